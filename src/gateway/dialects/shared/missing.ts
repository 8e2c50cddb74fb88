/** Headers that a proxy must send and did not. */

export const NOTHING_MISSING: readonly string[] = [];

/** Gets names and what was found under each. */
export function namesOfMissing(
  required: readonly (readonly [name: string, value: string | undefined])[],
): string[] {
  return required.flatMap(([name, value]) => (value === undefined ? [name] : []));
}
