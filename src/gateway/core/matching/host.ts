import { isIPv6 } from 'node:net';

/** The characters of a DNS name (RFC 1035, section 2.3.4) with a port. */
const MAX_LENGTH = 253 + ':65535'.length;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?(?::\d{1,5})?$/i;
const BRACKETED = /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i;

/**
 * Whether a host is `name[:port]` or `[IPv6][:port]`. Servers read other texts (`admin.example.com:1:2`) as different
 * hosts, so a policy for a host could be evaded. An empty host is valid, because HTTP/1.0 requests have none.
 */
export function isHost(host: string): boolean {
  if (host.length > MAX_LENGTH) return false;
  if (host === '' || NAME.test(host)) return true;
  const [, address] = BRACKETED.exec(host) ?? [];
  return address !== undefined && isIPv6(address);
}

/** The host in lower case, without port and trailing dot. It must be valid (`isHost`). */
export function canonicalHost(host: string): string {
  const text = host.toLowerCase();
  const port = text.lastIndexOf(':');
  const bare = port !== -1 && text.indexOf(']', port) === -1 ? text.slice(0, port) : text;
  return bare.endsWith('.') ? bare.slice(0, -1) : bare;
}

/** Whether a policy for `pattern`, a name or `*.domain`, is for this host or for all hosts of this pattern. */
export function isHostWithin(host: string, pattern: string): boolean {
  return host === pattern || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));
}
