import { ConfigError } from '../diagnostic.ts';

export const LARGEST_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface Target {
  /** A name, or an address of IPv4 or IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const EXAMPLE = 'write host:port, for example envoy-gateway:18001';
/** gRPC libraries accept these too, for a name that the DNS resolves. */
const DNS_SCHEME = /^dns:(?:\/\/\/)?/;
const HOST_AND_PORT = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/;

/** Reads `host:port`, `[::1]:port` and `dns:///host:port`. Throws a ConfigError. */
export function parseTarget(text: string): Target {
  const [, ipv6, name, digits] = HOST_AND_PORT.exec(text.replace(DNS_SCHEME, '')) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new ConfigError([`the control plane's address is "${text}", ${EXAMPLE}`]);
}

export function targetText({ host, port }: Target): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export type TextPairs = Readonly<Record<string, string>>;

export const METADATA_FORM = 'key=value pairs, separated by commas';
export const HEADERS_FORM =
  'headers of gRPC such as authorization:Bearer 1234, separated by commas';

/** Throws a RangeError. */
export function parseMetadata(text: string): TextPairs {
  return pairsOf(text, '=', METADATA_FORM);
}

/** The characters that gRPC allows in names of metadata. */
const HEADER_NAME = /^[\da-z_.-]+$/;
/** They are gRPC's own, or HTTP/2 forbids them, or (`-bin`) their values are not text. */
const NOT_FREE =
  /^(?:grpc-.*|.*-bin|te|content-type|connection|host|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings)$/;
const HEADER_VALUE = /^[ -~]*$/;

/** Names become lower case. Throws a RangeError, which quotes no value. */
export function parseHeaders(text: string): TextPairs {
  const headers = Object.entries(pairsOf(text, ':', HEADERS_FORM)).map(([name, value]) => {
    const lower = name.toLowerCase();
    const isFree = HEADER_NAME.test(lower) && !NOT_FREE.test(lower) && HEADER_VALUE.test(value);
    if (!isFree) throw new RangeError(`must be ${HEADERS_FORM}`);
    return [lower, value];
  });
  return Object.fromEntries(headers);
}

function pairsOf(text: string, separator: string, form: string): TextPairs {
  const pairs = text.split(',').map((pair) => {
    const at = pair.indexOf(separator);
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (name === '') throw new RangeError(`must be ${form}`);
    return [name, pair.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}
