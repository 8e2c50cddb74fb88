/** Whether a text holds an IP address, so that a lasting name of the text would be a lasting name of the address. */
import { isIPv6 } from 'node:net';

/** Longer texts are not searched: such a list may hold an address anywhere. */
const LONGEST = 256;

const DOTTED = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/;
/** What an IPv6 address consists of. */
const HEX_AND_COLONS = /[\da-f:]{2,}/gi;
/** Without two colons in a row, an IPv6 address has eight groups and seven colons. */
const SHORTEST_FULL = 15;

/**
 * True for addresses and networks of both families, with brackets, a port, a zone or a prefix length, in lists, and with
 * other text around them. It may be true for other texts too, such as a version 1.2.3.4. False for an address that is
 * written in another way: as one number, percent-encoded, or as a host name.
 */
export function holdsAddress(text: string): boolean {
  if (text.length > LONGEST) return true;
  if (text.includes('.') && DOTTED.test(text)) return true;
  if (!text.includes(':')) return false;
  return text.match(HEX_AND_COLONS)?.some(isIPv6Within) ?? false;
}

/** What is next to an address may look like a part of it: `id:2001:db8::1`, or a port after eight groups. */
function isIPv6Within(text: string): boolean {
  if (text.length < SHORTEST_FULL && !text.includes('::')) return false;
  const first = text.indexOf(':');
  const last = text.lastIndexOf(':');
  return isIPv6(text) || isIPv6(text.slice(first + 1)) || isIPv6(text.slice(0, last));
}
