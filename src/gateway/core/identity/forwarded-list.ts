/**
 * Reads X-Forwarded-For and Forwarded from the right. The nearest proxy wrote the last entry. Everything before it was
 * in the request that this proxy received.
 */

/** The list that the proxy maintains. The client can write the other one. */
export type ForwardedHeader = 'x-forwarded-for' | 'forwarded';

/** The entries as text, last one first: an address, perhaps with a port, or anything else. */
export function forwardedEntries(list: string, header: ForwardedHeader): Iterable<string> {
  if (header === 'forwarded') return forwardedNodes(list);
  return elements(list, (text, end) => text.lastIndexOf(',', end));
}

/** The `for` of each element of a Forwarded field (RFC 7239, section 4); empty for an element without exactly one. */
function* forwardedNodes(field: string): Generator<string> {
  for (const element of elements(field, lastCommaOutsideQuotes)) yield nodeOf(element) ?? '';
}

/** `name=value`. Escapes are not read, because no proxy needs them. */
const PAIR = /\s*([\w!#$%&'*+.^`|~-]+)=(?:"([^"\\]*)"|([^\s;"\\]*))\s*(?:;|$)/y;

function nodeOf(element: string): string | undefined {
  let node: string | undefined;
  for (PAIR.lastIndex = 0; PAIR.lastIndex < element.length; ) {
    const pair = PAIR.exec(element);
    if (pair === null) return undefined;
    const [, name = '', quoted, token] = pair;
    if (name.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = quoted ?? token;
  }
  return node;
}

/** Searches from the right, so that an open quote from a client cannot hide an entry that a proxy wrote after it. */
function lastCommaOutsideQuotes(text: string, end: number): number {
  let quoted = false;
  for (let i = end; i >= 0; i--) {
    const char = text[i];
    if (char === '"') quoted = !quoted;
    else if (char === ',' && !quoted) return i;
  }
  return -1;
}

function* elements(
  field: string,
  commaBefore: (text: string, end: number) => number,
): Generator<string> {
  if (field === '') return;
  let end = field.length;
  while (end >= 0) {
    const comma = end === 0 ? -1 : commaBefore(field, end - 1);
    yield field.slice(comma + 1, end).trim();
    end = comma;
  }
}
