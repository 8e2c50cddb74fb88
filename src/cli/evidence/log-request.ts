/** Turns entries of an access log into the requests that a gateway would have checked. */
import type {
  CheckRequest,
  HeaderFields,
  ProxyMetadata,
  ReportedAddresses,
} from '../../gateway/core/check-request.ts';
import { canonicalAddress } from '../../gateway/core/identity/address.ts';
import type { Vouched } from '../../gateway/core/identity/vouched.ts';
import { isHost } from '../../gateway/core/matching/host.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';
import { nameIn } from '../../gateway/core/proxy-metadata.ts';
import type { LogEntry } from './formats/log-format.ts';
import { lastOf } from './formats/parts/values.ts';

export interface MappedField {
  /** `api_key`, `user`, `plan`, or `header:` and the name of a header in lower case. */
  readonly target: string;
  readonly field: string;
}

/**
 * The request of an entry, or undefined if the entry does not say which client sent it. Every call returns the same
 * object with other values, so that a long log needs no memory for it.
 */
export type LogRequests = (entry: LogEntry) => LogRequest | undefined;

interface LogRequest extends CheckRequest {
  readonly addresses: Omit<ReportedAddresses, 'client'> & { client: string | undefined };
}

/** Reads `api_key=FIELD`, `user=FIELD`, `plan=FIELD` or `header:NAME=FIELD`. Throws a RangeError whose message gives the right form. */
export function readMapping(text: string): MappedField {
  const [, kind = '', header = '', field = ''] =
    /^(api_key|user|plan|header:([A-Za-z0-9-]+))=(.+)$/.exec(text) ?? [];
  if (kind === '') {
    throw new RangeError(
      `"${text}" must be api_key=FIELD, user=FIELD, plan=FIELD or header:NAME=FIELD`,
    );
  }
  return { target: header === '' ? kind : `header:${header.toLowerCase()}`, field };
}

/** The entries must have the values of the mapped fields, in the order of `mapping`. */
export function createLogRequests(
  { naming }: PolicySet,
  mapping: readonly MappedField[],
): LogRequests {
  const mapped = mapping.map(({ target }) => placeOf(target, naming));
  const claims = new LoggedClaims(mapped);
  const addresses = {
    // The proxy that wrote the log is one that the file trusts. If the file trusts none, it believes no address.
    proxy: naming.trustedProxies.example ?? NO_PROXY,
    peer: undefined as string | undefined,
    client: undefined as string | undefined,
    forwardedFor: undefined as string | undefined,
    forwarded: undefined as string | undefined,
    headers: NO_NAMES,
  };
  const request = {
    ...{ method: '', host: '', target: '', headers: NO_HEADERS as HeaderFields, addresses },
    ...{ policy: undefined, requestId: undefined, metadata: claims, missing: NO_NAMES },
  };
  return (entry) => {
    request.method = entry.method;
    // The proxy answered the request, so it did not refuse the host as a gateway would.
    request.host = entry.host !== undefined && isHost(entry.host) ? entry.host : '';
    request.target = entry.target;
    addresses.client = entry.address;
    addresses.forwardedFor = entry.forwardedFor;
    addresses.forwarded = undefined;
    claims.fields = entry.fields;
    if (mapped.length > 0) request.headers = mappedHeaders(entry, mapped, addresses);
    if (addresses.client === undefined) takeLastForwarded(addresses);
    // A network such as Cloudflare's may set headers only if it connected to the proxy.
    addresses.peer = addresses.client;
    // A log may have `unix:`, a host name or `-` in place of an address.
    const hasAddress = canonicalAddress(addresses.client ?? '') !== undefined;
    const isKnown = hasAddress || request.headers !== NO_HEADERS || claims.isAny;
    return isKnown ? request : undefined;
  };
}

const NO_PROXY = '127.0.0.1';
const NO_NAMES: readonly string[] = [];
const NO_HEADERS: HeaderFields = {};

interface MappedHeader {
  readonly header: string;
  /** The field holds a token, and the header has `Bearer` before it. */
  readonly isToken?: boolean;
}

type MappedPlace = MappedHeader | Vouched | undefined;

/** Where a gateway finds the value of a field. Undefined if the policy file says nothing of plans. */
function placeOf(target: string, naming: PolicySet['naming']): MappedPlace {
  const { apiKeyHeader, user, plan } = naming;
  if (target === 'user') return user;
  if (target === 'plan') return plan;
  if (target !== 'api_key') return { header: target.slice('header:'.length) };
  return { header: apiKeyHeader, isToken: apiKeyHeader === 'authorization' };
}

/** Users and plans that the policy file takes from metadata. */
class LoggedClaims implements ProxyMetadata {
  fields: LogEntry['fields'] = [];
  readonly #mapped: readonly MappedPlace[];

  constructor(mapped: readonly MappedPlace[]) {
    this.#mapped = mapped;
  }

  get isAny(): boolean {
    return this.#mapped.some((place, i) => isClaim(place) && nameIn(this.fields[i]) !== undefined);
  }

  /** `path` is the one of the policy file, so nothing is compared but the object. */
  text(_namespace: string, path: readonly string[]): string | undefined {
    const index = this.#mapped.findLastIndex((place) => isClaim(place) && place.claim === path);
    return nameIn(this.fields[index]);
  }
}

function isClaim(place: MappedPlace): place is Extract<Vouched, { metadata: string }> {
  return place !== undefined && 'metadata' in place;
}

type ForwardedLists = Record<'client' | 'forwardedFor' | 'forwarded', string | undefined>;

/** Lists of forwarded addresses are no headers of the client: proxies report them. */
function mappedHeaders(
  { fields }: LogEntry,
  mapped: readonly MappedPlace[],
  lists: ForwardedLists,
): HeaderFields {
  let headers: Record<string, string> | undefined;
  for (let i = 0; i < mapped.length; i++) {
    const value = fields[i];
    const found = mapped[i];
    if (value === undefined || value === '' || found === undefined || isClaim(found)) continue;
    const { header, isToken }: MappedHeader = found;
    if (header === 'x-forwarded-for') lists.forwardedFor = value;
    else if (header === 'forwarded') lists.forwarded = value;
    else {
      headers ??= {};
      headers[header] = isToken && !/^bearer /i.test(value) ? `Bearer ${value}` : value;
    }
  }
  return headers ?? NO_HEADERS;
}

/** Envoy logs no peer by default. It appends the peer to X-Forwarded-For, so the last address is the peer. */
function takeLastForwarded(lists: ForwardedLists): void {
  if (lists.forwardedFor === undefined) return;
  const { last, before } = lastOf(lists.forwardedFor);
  lists.client = last;
  lists.forwardedFor = before;
}
