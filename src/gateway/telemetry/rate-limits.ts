/** Envoy's rate limit service: what its limits count, and which limits are in force. */
import type { TelemetryContext } from './context.ts';
import { type LogLines, MOST_LISTED, ONE_A_MINUTE } from './log/log-line.ts';
import { countAtScrape, type MetricRows } from './metrics.ts';

const runbook = 'HeadgateRateLimitsNotCurrent';

export const RATE_LIMIT_LINES = {
  rate_limits_loaded: {
    level: 'info',
    message: "limits for Envoy's rate limit filter were loaded",
    fields: { limits: 'how many there are, unlimited ones included' },
    meaning: 'They apply from now on.',
  },
  rate_limits_refused: {
    level: 'error',
    message: "limits for Envoy's rate limit filter have mistakes: the ones in force stay",
    fields: {
      mistakes: `a list of the first ${MOST_LISTED}, each as \`file:line:column: path: what is wrong\``,
      more: 'how many more there are',
    },
    meaning:
      'Correct them; for files, `headgate check` lists them all. A control plane gets them as the reason why its limits were refused.',
    runbook,
  },
  rate_limits_missing: {
    level: 'warn',
    message: 'no limits are in force yet: the control plane has not sent any',
    fields: {
      calls:
        "what happens to calls of Envoy's rate limit filter until then: `pass` (uncounted) or `fail`",
    },
    meaning:
      'Envoy Gateway sends none before there is a Gateway. `HEADGATE_RATELIMIT_BEFORE_LIMITS` chooses what happens until then. The line comes again each minute.',
  },
  control_plane_connected: {
    level: 'info',
    message: 'the control plane answers',
    fields: {},
    meaning: 'Its limits apply as soon as it sends them.',
  },
  control_plane_lost: {
    level: 'warn',
    message: 'the control plane does not answer: its last limits stay in force',
    fields: {
      cause: 'what happened',
      retry_in_ms: 'milliseconds until headgate connects again',
    },
    meaning: 'Check its address, its certificates and its own log.',
    atMost: ONE_A_MINUTE,
    runbook,
  },
  last_good_rate_limits_used: {
    level: 'warn',
    message: 'the control plane does not answer: its limits of an earlier run apply',
    fields: {},
    meaning: 'They come from the file that `HEADGATE_RATELIMIT_LAST_GOOD` names.',
    runbook,
  },
} as const satisfies LogLines;

const RATE_LIMIT_METRICS = {
  headgate_ratelimit_hits_total: {
    help: "Hits from Envoy's rate limit filter by limit and outcome: within, near (from 80 % of the limit), over, shadow_over.",
    labels: ['limit', 'outcome'],
  },
  headgate_ratelimit_last_reload_successful: {
    help: "0 while the limits for Envoy's rate limit filter have mistakes and the previous ones stay in force, else 1.",
    aggregator: 'min',
  },
  headgate_ratelimit_last_success_timestamp_seconds: {
    help: "When the limits for Envoy's rate limit filter were loaded, seconds since the epoch.",
    aggregator: 'max',
  },
  headgate_ratelimit_control_plane_connected: {
    help: '0 while the control plane that sends the limits does not answer, else 1.',
    aggregator: 'min',
  },
} as const satisfies MetricRows;

/** Values of descriptors are in names only where the configuration says so, and clients may choose them. */
const MOST_NAMES = 1_000;
const OTHERS = 'others';

export function createRateLimitEvents({ linesOf, metricsOf, now }: TelemetryContext) {
  const write = linesOf(RATE_LIMIT_LINES);
  const metrics = metricsOf(RATE_LIMIT_METRICS);
  const lastReload = metrics.headgate_ratelimit_last_reload_successful;
  const connected = metrics.headgate_ratelimit_control_plane_connected;
  const tally = new HitTally();
  countAtScrape(metrics.headgate_ratelimit_hits_total, () => tally.counts());
  const names = new Set<string>();
  // Until something is wrong.
  lastReload.set(1);
  connected.set(1);
  return {
    counted(limit: string, outcome: string, hits: number): void {
      const isNamed = names.has(limit) || names.size < MOST_NAMES;
      if (isNamed) names.add(limit);
      tally.add(isNamed ? limit : OTHERS, outcome, hits);
    },
    loaded(limits: number): void {
      // What is named now may have been removed.
      names.clear();
      lastReload.set(1);
      metrics.headgate_ratelimit_last_success_timestamp_seconds.set(Math.floor(now() / 1000));
      write('rate_limits_loaded', { limits });
    },
    /** Each mistake is written as `file:line:column: path: what is wrong`. */
    refused(all: readonly string[]): void {
      lastReload.set(0);
      const mistakes = all.slice(0, MOST_LISTED);
      write('rate_limits_refused', { mistakes, more: all.length - mistakes.length });
    },
    missing: (calls: 'pass' | 'fail'): void => write('rate_limits_missing', { calls }),
    controlPlaneConnected(): void {
      connected.set(1);
      write('control_plane_connected', {});
    },
    controlPlaneLost(cause: string, retryInMs: number): void {
      connected.set(0);
      write('control_plane_lost', { cause, retry_in_ms: retryInMs });
    },
    lastGoodUsed: (): void => write('last_good_rate_limits_used', {}),
  };
}

class HitTally {
  readonly #byLimit = new Map<string, Map<string, number>>();

  add(limit: string, outcome: string, hits: number): void {
    let counts = this.#byLimit.get(limit);
    if (counts === undefined) {
      counts = new Map();
      this.#byLimit.set(limit, counts);
    }
    counts.set(outcome, (counts.get(outcome) ?? 0) + hits);
  }

  *counts(): Generator<[{ limit: string; outcome: string }, number]> {
    for (const [limit, counts] of this.#byLimit) {
      for (const [outcome, hits] of counts) yield [{ limit, outcome }, hits];
    }
  }
}
