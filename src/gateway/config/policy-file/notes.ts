/** Notes on approximate limits of a valid policy file: how much they let pass. They are logged when the file is loaded. */
import type { DiagnosticDraft } from '../diagnostic.ts';
import { everyEntry, type LimitEntry, limitLists, type ValidFile } from './valid-file.ts';

/** Counters and fixed windows admit up to twice their limit. Below this number, that is a warning. */
const SMALL_LIMIT = 50;

export function notesOn(file: ValidFile): DiagnosticDraft[] {
  return everyEntry(file)
    .flatMap(({ entry, at }) => limitLists(entry, at))
    .flatMap(({ limits, path }) =>
      limits.flatMap((limit, index) => {
        const note = noteOn(limit);
        return note === undefined ? [] : [{ ...note, path: [...path, index] }];
      }),
    );
}

type Note = Pick<DiagnosticDraft, 'rule' | 'message'>;

/** `npm run prove -- worst-case` measures these worst cases. */
function noteOn(entry: LimitEntry): Note | undefined {
  const { rate, algorithm } = entry;
  const { limit, window } = rate;
  switch (algorithm) {
    case 'sliding-window-log':
      return undefined;
    case 'token-bucket': {
      const worst = (entry.burst ?? limit) + limit - 1;
      const message = `token-bucket admits bursts by design: up to ${worst} units in ${window}`;
      return { rule: 'bucket-bursts', message };
    }
    case 'sliding-window-counter': {
      const worst = `up to ${2 * limit - 1} units, about twice the limit, pass in ${window} at a window boundary`;
      return boundaryNote(entry, 'is approximate', worst);
    }
    case 'fixed-window': {
      const worst = `up to ${2 * limit} units, twice the limit, pass within a moment around the end of a window`;
      return boundaryNote(entry, 'starts from zero with each window', worst);
    }
  }
}

/** An author who names a day or a month has chosen its boundaries. */
function boundaryNote({ rate, algorithm }: LimitEntry, why: string, worst: string): Note {
  const { limit, calendar } = rate;
  if (limit >= SMALL_LIMIT || calendar !== undefined) {
    return { rule: 'approximate-limit', message: `${algorithm} ${why}: ${worst}` };
  }
  const message = `${algorithm} is too inexact for a limit of ${limit}: ${worst}; use sliding-window-log, which is exact`;
  return { rule: 'approximate-small-limit', message };
}
