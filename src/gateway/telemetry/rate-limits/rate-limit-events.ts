/** Reports on Envoy's rate limit service: what its limits count, and which limits are in force. */

import type { TelemetryContext } from '../context.ts';
import { MOST_LISTED } from '../log/log-line.ts';
import { RATE_LIMIT_LINES } from './rate-limit-lines.ts';
import { createRateLimitMetrics } from './rate-limit-metrics.ts';

export interface RateLimitEvents {
  /** A limit counted hits. `limit` names it in metrics. */
  counted(limit: string, outcome: string, hits: number): void;
  /** So many limits are in force. */
  loaded(limits: number): void;
  /** The limits in force stay. Each mistake as `file:line:column: path: what is wrong`. */
  refused(mistakes: readonly string[]): void;
  /** No limits are in force, because the control plane has not sent any yet. `calls`: whether calls pass or fail. */
  missing(calls: 'pass' | 'fail'): void;
  controlPlaneConnected(): void;
  controlPlaneLost(cause: string, retryInMs: number): void;
  /** The control plane does not answer, so the limits that it sent last apply again. */
  lastGoodUsed(): void;
}

/** Values of descriptors are in names only where the configuration says so, and clients may choose them. */
const MOST_NAMES = 1_000;
const OTHERS = 'others';

export function createRateLimitEvents(context: TelemetryContext): RateLimitEvents {
  const { isFirst, now } = context;
  const write = context.linesOf(RATE_LIMIT_LINES);
  const metrics = createRateLimitMetrics(context.registers);
  const names = new Set<string>();
  // Until something is wrong.
  metrics.lastReload.set(1);
  metrics.connected.set(1);
  const nameOf = (limit: string) => {
    if (names.has(limit)) return limit;
    if (names.size === MOST_NAMES) return OTHERS;
    names.add(limit);
    return limit;
  };
  return {
    counted: (limit, outcome, hits) => metrics.hits.add(nameOf(limit), outcome, hits),
    loaded(limits) {
      // What is named now may have been removed.
      names.clear();
      metrics.lastReload.set(1);
      metrics.loadedAt.set(Math.floor(now() / 1000));
      write('rate_limits_loaded', { limits });
    },
    refused(all) {
      metrics.lastReload.set(0);
      const mistakes = all.slice(0, MOST_LISTED);
      write('rate_limits_refused', { mistakes, more: all.length - mistakes.length });
    },
    missing: (calls) => write('rate_limits_missing', { calls }),
    controlPlaneConnected() {
      metrics.connected.set(1);
      write('control_plane_connected', {});
    },
    controlPlaneLost(cause, retryInMs) {
      metrics.connected.set(0);
      if (isFirst('control plane')) write('control_plane_lost', { cause, retry_in_ms: retryInMs });
    },
    lastGoodUsed: () => write('last_good_rate_limits_used', {}),
  };
}
