/** Converts `match` of a policy to a route of the matcher. */
import type { RouteMatch } from '../../core/matching/matcher.ts';
import { literalPath } from './path-template.ts';
import type { PolicyEntry } from './policy-schema.ts';

export function routeMatchOf({ match }: PolicyEntry, caseSensitive: boolean): RouteMatch {
  const path = match?.path === undefined ? undefined : literalPath(match.path);
  return {
    methods: match?.method === undefined ? undefined : [match.method].flat(),
    host: match?.host,
    path: caseSensitive ? path : path?.toLowerCase(),
  };
}
