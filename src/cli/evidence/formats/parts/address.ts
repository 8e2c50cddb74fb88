/** Addresses as logs write them. */

/** Without a port: of `192.0.2.1:80`, `[2001:db8::1]:80` and what has none. Undefined if there is no address. */
export function addressOf(text: string | undefined): string | undefined {
  if (text === undefined || text.startsWith('unix')) return undefined;
  if (text.charCodeAt(0) === 91) {
    const end = text.indexOf(']');
    return end < 0 ? undefined : text.slice(1, end);
  }
  const colon = text.indexOf(':');
  return colon < 0 || text.indexOf(':', colon + 1) >= 0 ? text : text.slice(0, colon);
}

/** Where every address has a port, also one like `2001:db8::1:80`. */
export function addressBeforePort(text: string | undefined): string | undefined {
  const colon = text?.lastIndexOf(':') ?? -1;
  if (text === undefined || colon <= 0) return undefined;
  const address = text.slice(0, colon);
  if (address.startsWith('[') && address.endsWith(']')) return address.slice(1, -1);
  return address.startsWith('unix') ? undefined : address;
}

/** The last entry of a list, and what stands before it. */
export function lastOf(list: string): { last: string; before: string | undefined } {
  const comma = list.lastIndexOf(',');
  if (comma < 0) return { last: list.trim(), before: undefined };
  return { last: list.slice(comma + 1).trim(), before: list.slice(0, comma).trim() || undefined };
}
