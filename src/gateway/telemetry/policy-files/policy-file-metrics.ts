/** Metrics of the policy file: which one is in force, and whether reloading it worked. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function createPolicyFileMetrics(registers: Registry[]) {
  return {
    inForce: new Gauge({
      name: 'headgate_config_info',
      help: '1, with the start of the SHA-256 of the policy file in force and the files that it refers to.',
      labelNames: ['sha256'],
      aggregator: 'max',
      registers,
    }),
    lastReload: new Gauge({
      name: 'headgate_config_last_reload_successful',
      help: '0 while the policy file has mistakes and the previous policies stay in force, else 1.',
      aggregator: 'min',
      registers,
    }),
    loadedAt: new Gauge({
      name: 'headgate_config_last_success_timestamp_seconds',
      help: 'When the policy file in force was read, seconds since the epoch.',
      aggregator: 'max',
      registers,
    }),
    reloads: new Counter({
      name: 'headgate_policy_reloads_total',
      help: 'Reloads of the policy file, or of a file that it refers to, by result. Each worker counts its own.',
      labelNames: ['result'],
      registers,
    }),
  };
}
