/** Finds policies with the same name, and policies that match the same requests. */
import { routeKeys } from '../../core/matching/matcher.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import type { PolicyEntry } from './policy-schema.ts';
import { routeMatchOf } from './route.ts';

/** `names` are those of the entries, and unknown values where an entry has none. */
export function* nameMistakes(
  { names }: { readonly names: readonly unknown[] },
  lineAt: (path: Path) => number,
): Generator<DiagnosticDraft> {
  const firsts = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string') continue;
    const first = firsts.get(name);
    if (first === undefined) {
      firsts.set(name, index);
      continue;
    }
    const path = ['policies', index, 'name'];
    const line = lineAt(['policies', first]);
    const message = `the policy in line ${line} has the name "${name}" too, rename one of them`;
    yield { rule: 'name-taken', path, message };
  }
}

interface Routes {
  readonly entries: readonly (PolicyEntry | undefined)[];
  readonly caseSensitive: boolean;
}

/** Two policies tie if neither is more specific. Policies that always apply do not compete. */
export function* tieMistakes(
  { entries, caseSensitive }: Routes,
  lineAt: (path: Path) => number,
): Generator<DiagnosticDraft> {
  const taken = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.always) continue;
    for (const key of routeKeys(routeMatchOf(entry, caseSensitive))) {
      const other = taken.get(key);
      if (other === undefined) {
        taken.set(key, index);
        continue;
      }
      const name = entries[other]?.name;
      const line = lineAt(['policies', other]);
      const message =
        `matches the same requests as policy "${name}" in line ${line}, ` +
        'make one of them more specific, or set "always: true" to apply both';
      yield { rule: 'policies-tie', path: ['policies', index, 'match'], message };
      break;
    }
  }
}
