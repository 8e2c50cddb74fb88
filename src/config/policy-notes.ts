/** What a valid policy file should not leave unsaid: limits that are approximate, and by how much. */
import type { DefaultEntry, LimitEntry, PolicyEntry } from './policy-schema.ts';
import type { LocatedMistake } from './schema-mistakes.ts';
import type { Path, YamlText } from './yaml-text.ts';

/** Below this, twice the limit is a different limit. */
const SMALL_LIMIT = 50;

interface NotedParts {
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

export function notesOn({ fallback, entries }: NotedParts, yaml: YamlText): LocatedMistake[] {
  const notes: LocatedMistake[] = [];
  const note = (limits: readonly LimitEntry[], at: Path) => {
    for (const [index, limit] of limits.entries()) {
      const path = [...at, index];
      const message = noteOn(limit);
      if (message !== undefined) notes.push({ offset: yaml.offsetOf(path), path, message });
    }
  };
  const noteAll = ({ limits, plans }: DefaultEntry, at: Path) => {
    note(limits, [...at, 'limits']);
    for (const [plan, written] of Object.entries(plans)) note(written, [...at, 'plans', plan]);
  };
  noteAll(fallback, ['default']);
  for (const [index, entry] of entries.entries()) noteAll(entry, ['policies', index]);
  return notes;
}

/** The worst cases are the ones that `npm run prove:worst-case` finds. */
function noteOn({ rate, algorithm, burst = rate.limit }: LimitEntry): string | undefined {
  if (algorithm === 'token-bucket') {
    const worst = burst + rate.limit - 1;
    return `token-bucket lets bursts through by design: up to ${worst} units in ${rate.window}`;
  }
  if (algorithm !== 'sliding-window-counter') return undefined;
  const worst = `up to ${2 * rate.limit - 1} units in ${rate.window}, about twice the limit, pass at a boundary`;
  if (rate.limit >= SMALL_LIMIT) return `sliding-window-counter is approximate: ${worst}`;
  return `warning: sliding-window-counter is too rough for a limit of ${rate.limit}: ${worst}; use sliding-window-log, which is exact`;
}
