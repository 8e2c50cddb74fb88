/** Headers that a dialect cannot do without. */

export const NOTHING_MISSING: readonly string[] = [];

/** Names of those that were not found. */
export function namesOfMissing(
  found: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.keys(found).filter((name) => found[name] === undefined);
}
