/**
 * The lists in which proxies say whom they forward for, last entry first: the last one was written by the proxy that
 * is nearest, and everything to its left by whoever that proxy heard it from.
 */
/** Which list is believed. A proxy maintains one of them; the other is the client's own to write. */
export type ForwardedHeader = 'x-forwarded-for' | 'forwarded';

/** Entries as they are written: an address, perhaps with a port, or junk. */
export function forwardedEntries(list: string, header: ForwardedHeader): Iterable<string> {
  if (header === 'forwarded') return forwardedNodes(list);
  return elements(list, (text, end) => text.lastIndexOf(',', end));
}

/** The `for` of each element of a Forwarded field (RFC 7239, section 4); junk for an element without exactly one. */
function* forwardedNodes(field: string): Generator<string> {
  for (const element of elements(field, lastCommaOutsideQuotes)) yield nodeOf(element) ?? '';
}

/** `name=value`; no honest proxy needs an escape in one. */
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

/** Found from the right, so that an open quote of a client cannot swallow what a proxy wrote after it. */
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
