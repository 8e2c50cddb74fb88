/** Finds mistakes that only two places of a policy file together show, such as a name used twice. */
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import type { AccessList } from './access-schema.ts';
import { keyMistakes, listedClientMistakes, sourceMistakes } from './cross-check-identity.ts';
import { limitMistakes, verifiedHeaderMistakes } from './cross-check-limits.ts';
import { nameMistakes, tieMistakes } from './cross-check-policies.ts';
import type { IdentitySection } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import type { DefaultEntry, PolicyEntry } from './policy-schema.ts';

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

/** Returns at most `max` mistakes. `lineAt` gives the line of a path, counted from 1. */
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
