/** Notes on approximate limits of a valid policy file: how much they let pass. They are logged when the file is loaded. */
import type { DiagnosticDraft } from '../diagnostic.ts';
import type { Path } from '../yaml-path.ts';
import { type LimitEntry, limitLists } from './limit-schema.ts';
import type { DefaultEntry, PolicyEntry } from './policy-schema.ts';

/** A counter admits up to twice its limit. Below this number, that is a warning. */
const SMALL_LIMIT = 50;

interface NotedFile {
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

export function notesOn({ fallback, entries }: NotedFile): DiagnosticDraft[] {
  return [
    ...notesOnPolicy(fallback, ['default']),
    ...entries.flatMap((entry, index) => notesOnPolicy(entry, ['policies', index])),
  ];
}

function notesOnPolicy(entry: DefaultEntry, at: Path): DiagnosticDraft[] {
  return limitLists(entry, at).flatMap(({ limits, path }) =>
    limits.flatMap((limit, index) => {
      const note = noteOn(limit);
      return note === undefined ? [] : [{ ...note, path: [...path, index] }];
    }),
  );
}

/** `npm run prove -- worst-case` measures these worst cases. */
function noteOn({
  rate,
  algorithm,
  burst = rate.limit,
}: LimitEntry): Pick<DiagnosticDraft, 'rule' | 'message'> | undefined {
  if (algorithm === 'token-bucket') {
    const worst = burst + rate.limit - 1;
    const message = `token-bucket admits bursts by design: up to ${worst} units in ${rate.window}`;
    return { rule: 'bucket-bursts', message };
  }
  if (algorithm !== 'sliding-window-counter') return undefined;
  const worst = `up to ${2 * rate.limit - 1} units, about twice the limit, pass in ${rate.window} at a window boundary`;
  if (rate.limit >= SMALL_LIMIT) {
    const message = `sliding-window-counter is approximate: ${worst}`;
    return { rule: 'approximate-limit', message };
  }
  const message = `sliding-window-counter is too inexact for a limit of ${rate.limit}: ${worst}; use sliding-window-log, which is exact`;
  return { rule: 'approximate-small-limit', message };
}
