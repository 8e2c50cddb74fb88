import { routeKeys } from '../../core/matching/matcher.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import { keyMistakes, listedClientMistakes, sourceMistakes } from './cross-check-identity.ts';
import { limitMistakes, verifiedHeaderMistakes } from './cross-check-limits.ts';
import type { KeyEntry } from './key-list.ts';
import { routeMatchOf } from './match.ts';
import type { AccessList, DefaultEntry, IdentitySection, PolicyEntry } from './valid-file.ts';

/** The sections of a file. Sections with mistakes are undefined. */
export interface Sections {
  readonly identity: IdentitySection | undefined;
  /** From the policy file or the key file. */
  readonly keys: readonly KeyEntry[] | undefined;
  readonly exempt: AccessList | undefined;
  readonly block: AccessList | undefined;
  readonly fallback: DefaultEntry | undefined;
  readonly entries: readonly (PolicyEntry | undefined)[];
  /** The names of all entries, including entries with mistakes. */
  readonly names: readonly unknown[];
  readonly caseSensitive: boolean;
}

export function crossCheck(
  sections: Sections,
  lineAt: (path: Path) => number,
  max: number,
): DiagnosticDraft[] {
  const found: DiagnosticDraft[] = [];
  for (const mistake of mistakesIn(sections, lineAt)) {
    if (found.length >= max) break;
    found.push(mistake);
  }
  return found;
}

function* mistakesIn(
  sections: Sections,
  lineAt: (path: Path) => number,
): Generator<DiagnosticDraft> {
  yield* nameMistakes(sections, lineAt);
  yield* limitMistakes(sections);
  yield* tieMistakes(sections, lineAt);
  yield* keyMistakes(sections);
  yield* listedClientMistakes('exempt', sections);
  yield* listedClientMistakes('block', sections);
  yield* sourceMistakes(sections);
  yield* verifiedHeaderMistakes(sections);
}

function* nameMistakes(
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
function* tieMistakes(
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
