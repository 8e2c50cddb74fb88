import { tokenMistakes } from '../../settlement/token-size.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import { compilePolicies, type KnownRanges, toLimitDefinition } from './compile.ts';
import { allLimits, everyEntry, type ValidFile } from './valid-file.ts';

/** Compiles the file only if it has limits that charge afterwards. */
export function settleTokenMistakes(file: ValidFile, ranges: KnownRanges): DiagnosticDraft[] {
  const entries = everyEntry(file);
  const settles = entries.some(({ entry }) =>
    allLimits(entry).some((limit) => toLimitDefinition(limit).afterwards !== undefined),
  );
  if (!settles) return [];
  const { policies, fallback } = compilePolicies(file, ranges);
  const always = file.entries.filter((entry) => entry.always).map(({ name }) => name);
  const places = new Map(file.entries.map(({ name }, index) => [name, ['policies', index]]));
  return tokenMistakes(
    policies,
    policies.filter(({ name }) => always.includes(name)),
  ).map(({ policy, message }) => ({
    rule: 'settle-token',
    path: policy === fallback.name ? ['default'] : (places.get(policy) ?? []),
    message,
  }));
}
