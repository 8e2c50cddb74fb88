/** Requests that a policy is for, and that no other is likely to name: if it is not asked about one of these, it never is. */
import { METHODS } from 'node:http';
import { literalPath } from '../policy-file/path-template.ts';
import type { PolicyEntry } from '../policy-file/policy-schema.ts';
import { asTarget } from './spellings.ts';

export interface Sample {
  readonly method: string;
  readonly host: string;
  /** Without escapes. */
  readonly path: string;
  readonly target: string;
}

const UNLIKELY = 'a-sample';

export function samplesOf(entry: PolicyEntry, entries: readonly PolicyEntry[]): Sample[] {
  const host = entry.match?.host?.replace('*', UNLIKELY) ?? `${UNLIKELY}.invalid`;
  return methodsOf(entry, entries).flatMap((method) =>
    pathsOf(entry, entries).map((path) => ({ method, host, path, target: asTarget(path) })),
  );
}

/** Of a policy for any method: the commonest, and one that no policy names. */
function methodsOf({ match }: PolicyEntry, entries: readonly PolicyEntry[]): string[] {
  if (match?.method !== undefined) return [match.method].flat();
  const named = entries.flatMap((each) => each.match?.method ?? []);
  const unnamed = METHODS.find((method) => method !== 'HEAD' && !named.includes(method));
  return unnamed === undefined ? METHODS : ['GET', unnamed];
}

/** Parameters stand for one segment; the rest of a path for none, one, or more than any policy has. */
function pathsOf({ match }: PolicyEntry, entries: readonly PolicyEntry[]): string[] {
  const segments = literalPath(match?.path ?? '/*')
    .slice(1)
    .split('/');
  const filled = segments.map((segment) => (segment.startsWith(':') ? UNLIKELY : segment));
  if (filled.at(-1) !== '*') return [`/${filled.join('/')}`];
  const before = filled.slice(0, -1);
  const deepest = Math.max(...entries.map((each) => each.match?.path?.split('/').length ?? 0));
  return [1, 0, deepest].map(
    (count) => `/${[...before, ...Array.from({ length: count }, () => UNLIKELY)].join('/')}`,
  );
}
