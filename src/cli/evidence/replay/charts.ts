/** What the page of a replay draws, besides the report. Plain data. */

import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { ascending } from '../maps.ts';
import { limitRows } from './limit-rows.ts';
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
    limits: set.policies.flatMap(limitRows).flatMap(({ key, isImplied, plan, allows, limit }) => {
      const found = peaks.get(key);
      if (found === undefined || isImplied) return [];
      const { label, quota } = limit;
      return [
        {
          ...{ label, allows, limit: quota.burst, peaks: ascending(found) },
          ...(plan !== undefined && { plan }),
        },
      ];
    }),
  };
}
