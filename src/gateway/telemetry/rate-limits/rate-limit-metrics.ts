/** Metrics of Envoy's rate limit service. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { HitTally } from './hit-tally.ts';

export function createRateLimitMetrics(registers: Registry[]) {
  return {
    hits: talliedHits(registers),
    lastReload: new Gauge({
      name: 'headgate_ratelimit_last_reload_successful',
      help: "0 while the limits for Envoy's rate limit filter have mistakes and the previous ones stay in force, else 1.",
      aggregator: 'min',
      registers,
    }),
    loadedAt: new Gauge({
      name: 'headgate_ratelimit_last_success_timestamp_seconds',
      help: "When the limits for Envoy's rate limit filter were loaded, seconds since the epoch.",
      aggregator: 'max',
      registers,
    }),
    connected: new Gauge({
      name: 'headgate_ratelimit_control_plane_connected',
      help: '0 while the control plane that sends the limits does not answer, else 1.',
      aggregator: 'min',
      registers,
    }),
  };
}

function talliedHits(registers: Registry[]): HitTally {
  const tally = new HitTally();
  new Counter({
    name: 'headgate_ratelimit_hits_total',
    help: "Hits from Envoy's rate limit filter by limit and outcome: within, near (from 80 % of the limit), over, shadow_over.",
    labelNames: ['limit', 'outcome'],
    registers,
    collect() {
      this.reset();
      for (const [labels, hits] of tally.counts()) this.inc(labels, hits);
    },
  });
  return tally;
}
