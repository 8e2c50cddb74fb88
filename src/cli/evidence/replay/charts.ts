/** What the page of a replay draws, besides the report. Plain data. */
import { everyLimit } from '../../../gateway/core/counting/every-limit.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { MINUTE_MS, type ReplayResult } from './result.ts';

export interface ReplayCharts {
  readonly policies: readonly PolicyChart[];
  readonly limits: readonly LimitChart[];
}

export interface PolicyChart {
  readonly name: string;
  /** In the order of time; minutes without requests are absent. */
  readonly minutes: readonly MinutePoint[];
}

/** `atMs`: the start of the minute, milliseconds since the epoch. */
export type MinutePoint = readonly [atMs: number, requests: number, denied: number];

/** How high the clients of a limit got: the most units that each asked for within one window. */
export interface LimitChart {
  readonly label: string;
  /** In words: `5 requests per 5 minutes`. */
  readonly allows: string;
  /** Units that can be taken at once. */
  readonly limit: number;
  /** Lowest peak first. */
  readonly peaks: readonly (readonly [peak: number, clients: number])[];
}

export function chartsOf({ policies, peaks }: ReplayResult, set: PolicySet): ReplayCharts {
  const limits = set.policies.flatMap(everyLimit);
  return {
    policies: set.policies.flatMap(({ name }) => {
      const counts = policies.get(name);
      if (counts === undefined) return [];
      const minutes = [...counts.minutes]
        .map(([minute, [requests, denied]]) => [minute * MINUTE_MS, requests, denied] as const)
        .sort(([a], [b]) => a - b);
      return [{ name, minutes }];
    }),
    limits: limits.flatMap(({ label, description, quota }) => {
      const found = peaks.get(label);
      if (found === undefined) return [];
      const sorted = [...found].sort(([a], [b]) => a - b);
      return [{ label, allows: description, limit: quota.burst, peaks: sorted }];
    }),
  };
}
