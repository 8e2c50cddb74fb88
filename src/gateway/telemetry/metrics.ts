/**
 * All metrics, by subject. docs/metrics.md is generated from them. Labels come from policies, verdicts, reasons and
 * dialects, never from clients.
 */
import { Registry } from 'prom-client';
import { createDecisionMetrics } from './decisions/decision-metrics.ts';
import { createOperatorMetrics } from './operators/operator-metrics.ts';
import { createPolicyFileMetrics } from './policy-files/policy-file-metrics.ts';
import { collectNodeMetrics, createProcessMetrics } from './process/process-metrics.ts';
import { createProxyMetrics } from './proxies/proxy-metrics.ts';
import { createRateLimitMetrics } from './rate-limits/rate-limit-metrics.ts';
import { createStoreMetrics } from './store/store-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectNodeMetrics(registry);
  return {
    registry,
    decisions: createDecisionMetrics(registers),
    proxies: createProxyMetrics(registers),
    store: createStoreMetrics(registers),
    operators: createOperatorMetrics(registers),
    policyFile: createPolicyFileMetrics(registers),
    rateLimits: createRateLimitMetrics(registers),
    process: createProcessMetrics(registers),
  };
}
