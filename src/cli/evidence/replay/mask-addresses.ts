/** Hides addresses in the text of a line that was not understood, so nothing is known about its form. */

const MASK = '[address]';
/** `%3A` is a colon in a query. */
const HEX_AND_COLONS = /(?:[\da-f.]|:|%3a)+/gi;
/** With dashes it is a part of a host name. The end of a line that is cut may have the beginning of an address. */
const IPV4 = /(?<!\d[.-]?)\d{1,3}(?:(?:[.-]\d{1,3}){3,}|(?:\.\d{1,3}){2}\.?$)/g;

export function maskAddresses(text: string): string {
  return text
    .replace(HEX_AND_COLONS, (found) => (mayBeIPv6(found) ? MASK : found))
    .replace(IPV4, MASK);
}

/** A date and time have three colons and no letters: `2026:10:20:30`. */
function mayBeIPv6(text: string): boolean {
  const groups = text.toLowerCase().replaceAll('%3a', ':').split(':');
  const isShort = groups.slice(1, -1).includes('');
  return isShort || groups.length > 5 || (groups.length > 3 && /[a-f]/i.test(groups.join('')));
}
