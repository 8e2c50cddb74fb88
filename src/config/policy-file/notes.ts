/** What a valid policy file should not leave unsaid: limits that are approximate, and by how much. */

import type { Remark } from '../unplaced-diagnostic.ts';
import type { Path } from '../yaml-text.ts';
import {
  type DefaultEntry,
  type LimitEntry,
  limitLists,
  type PolicyEntry,
} from './policy-schema.ts';

/** Below this, twice the limit is a different limit. */
const SMALL_LIMIT = 50;

interface NotedParts {
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

export function notesOn({ fallback, entries }: NotedParts): Remark[] {
  return [
    ...notesOnPolicy(fallback, ['default']),
    ...entries.flatMap((entry, index) => notesOnPolicy(entry, ['policies', index])),
  ];
}

function notesOnPolicy(entry: DefaultEntry, at: Path): Remark[] {
  return limitLists(entry, at).flatMap(({ limits, path }) =>
    limits.flatMap((limit, index) => {
      const note = noteOn(limit);
      return note === undefined ? [] : [{ ...note, path: [...path, index] }];
    }),
  );
}

/** The worst cases are the ones that `npm run prove -- worst-case` finds. */
function noteOn({
  rate,
  algorithm,
  burst = rate.limit,
}: LimitEntry): Pick<Remark, 'rule' | 'message'> | undefined {
  if (algorithm === 'token-bucket') {
    const worst = burst + rate.limit - 1;
    const message = `token-bucket lets bursts through by design: up to ${worst} units in ${rate.window}`;
    return { rule: 'bucket-bursts', message };
  }
  if (algorithm !== 'sliding-window-counter') return undefined;
  const worst = `up to ${2 * rate.limit - 1} units in ${rate.window}, about twice the limit, pass at a boundary`;
  if (rate.limit >= SMALL_LIMIT) {
    const message = `sliding-window-counter is approximate: ${worst}`;
    return { rule: 'approximate-limit', message };
  }
  const message = `sliding-window-counter is too rough for a limit of ${rate.limit}: ${worst}; use sliding-window-log, which is exact`;
  return { rule: 'approximate-small-limit', message };
}
