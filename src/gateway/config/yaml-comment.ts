/** Finds what the author of a YAML file wrote at an entry of a list. */
import { isMap, isNode, isPair, isSeq, type Node } from 'yaml';

const LONGEST = 200;

/** The comment on the line of the entry, else the one above it, in one line. Undefined if there is none. */
export function commentOf(list: Node | null, index: number): string | undefined {
  if (!isSeq(list)) return undefined;
  const entry: unknown = list.items[index];
  // The parser gives a comment above a list to the list, and one on the line of a map to its first pair.
  const ofList = list.flow ? (list.comment ?? list.commentBefore) : undefined;
  const above = index === 0 ? list.commentBefore : undefined;
  const found = [...commentsIn(entry), ofList, above].find((text) => text?.trim());
  return found?.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST);
}

function commentsIn(entry: unknown): (string | null | undefined)[] {
  if (!isNode(entry)) return [];
  const first = isMap(entry) && !entry.flow ? entry.items[0] : undefined;
  const value = isPair(first) && isNode(first.value) ? first.value.comment : undefined;
  return [entry.comment, value, entry.commentBefore];
}
