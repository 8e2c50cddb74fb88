/** Notes on approximate limits of a valid policy file: how much they let pass. They are logged when the file is loaded. */
import type { Algorithm } from '../../core/counting/store.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import {
  type EntrySections,
  everyEntry,
  type LimitEntry,
  limitLists,
  type PlacedEntry,
} from './valid-file.ts';

/** Counters and fixed windows admit up to twice their limit. Below this number, that is a warning. */
const SMALL_LIMIT = 50;

export function notesOn(file: EntrySections): DiagnosticDraft[] {
  return everyEntry(file).flatMap(notesOnEntry);
}

function notesOnEntry({ entry, at }: PlacedEntry): DiagnosticDraft[] {
  return limitLists(entry, at).flatMap(({ limits, path }) =>
    limits.flatMap((limit, index) => {
      const note = noteOn(limit);
      return note === undefined ? [] : [{ ...note, path: [...path, index] }];
    }),
  );
}

type Note = Pick<DiagnosticDraft, 'rule' | 'message'>;

/** `npm run prove -- worst-case` measures these worst cases. */
function noteOn({ rate, algorithm, burst = rate.limit }: LimitEntry): Note | undefined {
  const { limit, window } = rate;
  switch (algorithm) {
    case 'sliding-window-log':
      return undefined;
    case 'token-bucket': {
      const worst = burst + limit - 1;
      const message = `token-bucket admits bursts by design: up to ${worst} units in ${window}`;
      return { rule: 'bucket-bursts', message };
    }
    case 'sliding-window-counter': {
      const worst = `up to ${2 * limit - 1} units, about twice the limit, pass in ${window} at a window boundary`;
      return boundaryNote(rate, { algorithm, why: 'is approximate', worst });
    }
    case 'fixed-window': {
      const worst = `up to ${2 * limit} units, twice the limit, pass within a moment around the end of a window`;
      return boundaryNote(rate, { algorithm, why: 'starts from zero with each window', worst });
    }
  }
}

interface Boundary {
  readonly algorithm: Algorithm;
  readonly why: string;
  readonly worst: string;
}

/** An author who names a day or a month has chosen its boundaries. */
function boundaryNote(
  { limit, calendar }: LimitEntry['rate'],
  { algorithm, why, worst }: Boundary,
): Note {
  if (limit >= SMALL_LIMIT || calendar !== undefined) {
    return { rule: 'approximate-limit', message: `${algorithm} ${why}: ${worst}` };
  }
  const message = `${algorithm} is too inexact for a limit of ${limit}: ${worst}; use sliding-window-log, which is exact`;
  return { rule: 'approximate-small-limit', message };
}
