/** `replaces`: a limit that takes the place of others in the same request. */
import type { MatchedRule } from './rule.ts';

/**
 * The matches of a request without those whose name another match replaces, in the same places. Limits that replace each
 * other both go. An unlimited match stays, and replaces others.
 */
export function withoutReplaced(
  matched: readonly (MatchedRule | undefined)[],
): (MatchedRule | undefined)[] {
  let replaced: Set<string> | undefined;
  for (const match of matched) {
    for (const name of match?.rule.replaces ?? []) {
      replaced ??= new Set();
      replaced.add(name);
    }
  }
  if (replaced === undefined) return [...matched];
  return matched.map((match) => {
    const isKept = match === undefined || match.rule.rate === undefined;
    const name = match?.rule.limitName;
    return isKept || name === undefined || !replaced.has(name) ? match : undefined;
  });
}
