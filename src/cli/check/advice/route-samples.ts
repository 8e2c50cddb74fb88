/** Sample requests for a policy. If it matches none of them, it never matches. */
import { literalPath, targetOf } from '../../../gateway/config/policy-file/path-template.ts';
import type { PolicyEntry } from '../../../gateway/config/policy-file/valid-file.ts';

export const { METHODS } = process.getBuiltinModule('node:http');

export interface Sample {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly target: string;
}

const UNLIKELY = 'a-sample';

export function samplesOf(entry: PolicyEntry, entries: readonly PolicyEntry[]): Sample[] {
  const host = entry.match?.host?.replace('*', UNLIKELY) ?? `${UNLIKELY}.invalid`;
  return methodsOf(entry, entries).flatMap((method) =>
    pathsOf(entry, entries).map((path) => ({ method, host, path, target: targetOf(path) })),
  );
}

/** For a policy without a method: GET, and a method that no policy names. */
function methodsOf({ match }: PolicyEntry, entries: readonly PolicyEntry[]): string[] {
  if (match?.method !== undefined) return [match.method].flat();
  const named = entries.flatMap((each) => each.match?.method ?? []);
  const unnamed = METHODS.find((method) => method !== 'HEAD' && !named.includes(method));
  return unnamed === undefined ? METHODS : ['GET', unnamed];
}

/** A final `*` is tried with one segment, none, and more than any policy has. */
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
