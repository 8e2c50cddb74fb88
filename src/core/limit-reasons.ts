/** What each limit of a request has left, in words: for who asks why. */
import type { LimitDescriptor } from './descriptor.ts';
import type { Recorder } from './recorder.ts';
import type { TakeResult } from './store.ts';

export function recordLimits(
  descriptors: readonly LimitDescriptor[],
  { admitted, states }: TakeResult,
  record: Recorder,
): void {
  for (const [i, { source, cost }] of descriptors.entries()) {
    const state = states[i];
    if (state === undefined) {
      record('limit', `${source.label}: not asked, another denied before`);
      continue;
    }
    const { limit, remaining, retryAfterMs } = state;
    if (admitted) record('limit', `${source.label}: ${remaining} of ${limit} are left after this`);
    else if (retryAfterMs === 0) record('limit', `${source.label}: ${remaining} of ${limit} left`);
    else {
      const needed = cost === 1 ? '' : `, ${cost} are needed`;
      record(
        'limit',
        `${source.label}: ${remaining} of ${limit} left${needed}; room again in ${Math.ceil(retryAfterMs / 1000)} s`,
      );
    }
  }
}
