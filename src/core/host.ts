/** The host of a request, as a Host header names it. */
import { isIPv6 } from 'node:net';

/** Of a DNS name in text form (RFC 1035, section 2.3.4), with a port. */
const MAX_LENGTH = 253 + ':65535'.length;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?(?::\d{1,5})?$/i;
const BRACKETED = /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i;

/**
 * Whether a host is `name[:port]` or `[IPv6][:port]`. Servers cut anything else at different places
 * (`admin.example.com:1:2`), so a policy for a host could not hold. An empty host is one: HTTP/1.0 has none.
 */
export function isHost(host: string): boolean {
  if (host.length > MAX_LENGTH) return false;
  if (host === '' || NAME.test(host)) return true;
  const [, address] = BRACKETED.exec(host) ?? [];
  return address !== undefined && isIPv6(address);
}

/** The one name of a host: lower case, without port and trailing dot. `host` is one by `isHost`. */
export function canonicalHost(host: string): string {
  const text = host.toLowerCase();
  const port = text.lastIndexOf(':');
  const bare = port !== -1 && text.indexOf(']', port) === -1 ? text.slice(0, port) : text;
  return bare.endsWith('.') ? bare.slice(0, -1) : bare;
}
