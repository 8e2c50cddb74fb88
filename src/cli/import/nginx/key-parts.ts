import type { Partition } from '../../../gateway/core/policy.ts';
import { headerPartition, INVENTED } from '../shared/headers.ts';
import type { Variables } from './variables.ts';

export interface KeyRemark {
  /** The same limit counts otherwise, and not only something beside it. */
  readonly isApproximate: boolean;
  readonly why: string;
}

export interface CountedKey {
  readonly per: Partition;
  /** Networks whose requests have an empty key, which NGINX does not limit. */
  readonly exempt?: readonly string[];
  readonly methods?:
    | { readonly are: 'only' | 'all-but'; readonly names: readonly string[] }
    | undefined;
  /** Only requests of these paths have a key. */
  readonly paths?: readonly string[] | undefined;
  readonly remarks: readonly KeyRemark[];
}

/** A text says why headgate cannot count by this key. */
export type KeyMeaning = CountedKey | string;

type PartKind = 'ip' | 'header' | 'host' | 'path' | 'constant';

interface Part {
  readonly kind: PartKind;
  readonly header?: string;
  readonly isHeader?: boolean;
}

const ADDRESSES =
  /^(binary_remote_addr|remote_addr|realip_remote_addr|proxy_protocol_addr|http_(x_forwarded_for|x_real_ip|cf_connecting_ip|true_client_ip|forwarded))$/;
const HOSTS = /^(host|http_host|server_name)$/;
const PATHS = /^(request_uri|uri|document_uri|request|request_filename|args|query_string|is_args)$/;
const CONSTANTS =
  /^(scheme|server_port|server_addr|hostname|server_protocol|nginx_version|pid|https)$/;
export function isAddressHeader(name: string): boolean {
  return ADDRESSES.test(name) && name.startsWith('http_');
}

export function isAddressVariable(name: string): boolean {
  return ADDRESSES.test(name) && !name.startsWith('http_');
}

export function meaningOfParts(names: readonly string[], variables: Variables): KeyMeaning {
  const parts = names.map((name) => partOf(name));
  const known = parts.filter((part) => part !== undefined);
  const unknown = names.find((_, i) => parts[i] === undefined);
  if (unknown === undefined) return combined(known);
  if (!known.some(({ kind }) => kind === 'ip')) return whyUnknown(unknown, variables);
  const meaning = combined(known);
  if (typeof meaning === 'string') return meaning;
  const why = `NGINX counts each $${unknown} of an address by itself, and headgate counts the address`;
  return { ...meaning, remarks: [...meaning.remarks, approximate(why)] };
}

export function variablesIn(key: string): string[] {
  return [...key.matchAll(/\$\{(\w+)\}|\$(\w+)/g)].map(
    ([, braced, plain]) => braced ?? plain ?? '',
  );
}

function partOf(name: string): Part | undefined {
  if (ADDRESSES.test(name)) return { kind: 'ip', isHeader: name.startsWith('http_') };
  if (HOSTS.test(name)) return { kind: 'host' };
  if (PATHS.test(name)) return { kind: 'path' };
  if (CONSTANTS.test(name)) return { kind: 'constant' };
  const [, header] = /^http_([a-z0-9_]+)$/.exec(name) ?? [];
  return header === undefined ? undefined : { kind: 'header', header: header.replaceAll('_', '-') };
}

function whyUnknown(name: string, variables: Variables): string {
  if (name.startsWith('cookie_')) return 'headgate does not read cookies';
  if (name.startsWith('arg_')) return 'headgate does not read query strings';
  if (variables.has(name)) return `$${name} is only a part of the key`;
  return `headgate does not know the variable $${name}`;
}

const WRITABLE =
  'a client can write this header. headgate counts the address that your proxy reports, or the one that identity.trusted_proxies vouch for.';
const NO_URLS =
  'headgate has no counter for each URL. Write a policy for each path that needs one, with a limit per: global';
const BY_URL =
  'NGINX counts each URL by itself. headgate counts all requests of the policy together, which is stricter: raise the limit if clients use several URLs';
const BY_HOST =
  'NGINX counts each host by itself, and headgate counts the hosts of one policy together';

function combined(parts: readonly Part[]): KeyMeaning {
  const has = (kind: PartKind) => parts.some((part) => part.kind === kind);
  const header = parts.find((part) => part.kind === 'header')?.header;
  const remarks: KeyRemark[] = [];
  if (parts.some(({ isHeader }) => isHeader)) {
    remarks.push({ isApproximate: false, why: WRITABLE });
  }
  if (has('path')) {
    if (!has('ip') && header === undefined) return NO_URLS;
    remarks.push(approximate(BY_URL));
  }
  if (has('host')) remarks.push(approximate(BY_HOST));
  if (has('ip')) {
    if (header === undefined) return { per: 'ip', remarks };
    const why = `NGINX counts each value of ${header} of an address by itself. headgate counts the address, because a client can invent values`;
    remarks.push(approximate(why));
    return { per: 'ip', remarks };
  }
  if (header !== undefined) {
    const per = headerPartition(header);
    if (per === undefined) return `headgate does not count by the header ${header}`;
    const why = `without the header ${header}, NGINX does not limit a request, and headgate counts it for its address. ${INVENTED}`;
    return { per, remarks: [...remarks, { isApproximate: true, why }] };
  }
  return { per: 'global', remarks };
}

export function approximate(why: string): KeyRemark {
  return { isApproximate: true, why: `${why}.` };
}
