/** What the page of a replay draws, besides the report. Plain data. */

import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { everyLimit } from '../../../gateway/core/policy.ts';
import { ascending } from '../maps.ts';
import { MINUTE_MS, type ReplayResult } from './result.ts';

export type ReplayCharts = ReturnType<typeof chartsOf>;
export type PolicyChart = ReplayCharts['policies'][number];
export type LimitChart = ReplayCharts['limits'][number];
/** `atMs`: the start of the minute, milliseconds since the epoch. */
export type MinutePoint = [atMs: number, requests: number, denied: number];

export function chartsOf({ policies, peaks }: ReplayResult, set: PolicySet) {
  return {
    policies: set.policies.flatMap(({ name }) => {
      const counts = policies.get(name);
      if (counts === undefined) return [];
      const minutes = [...counts.minutes].sort(([a], [b]) => a - b);
      return [
        {
          name,
          minutes: minutes.map(
            ([minute, denials]): MinutePoint => [minute * MINUTE_MS, ...denials],
          ),
        },
      ];
    }),
    limits: set.policies.flatMap(everyLimit).flatMap(({ label, description, quota }) => {
      const found = peaks.get(label);
      if (found === undefined) return [];
      return [{ label, allows: description, limit: quota.burst, peaks: ascending(found) }];
    }),
  };
}
