/** Logs of a few known clients, for tests of suggestions. */
import type { LogEntry } from '../../src/cli/evidence/formats/log-format.ts';
import { createLogRequests } from '../../src/cli/evidence/log-request.ts';
import { findPathRoutes } from '../../src/cli/evidence/suggest/path-routes.ts';
import { findPolicyRoutes } from '../../src/cli/evidence/suggest/routes.ts';
import { type SuggestOptions, suggest } from '../../src/cli/evidence/suggest/suggest.ts';
import { TrafficLog } from '../../src/cli/evidence/suggest/traffic-log.ts';
import { policySetFrom } from './policies.ts';

export const LOG_START_MS = Date.UTC(2026, 0, 5);
const OPTIONS: SuggestOptions = { holdoutMs: 0, capacity: undefined, precisionMs: 1 };
export const NO_POLICIES = 'version: 1\ndefault: { limits: [1000/1h] }';

export function entryOf(startMs: number, entry: Partial<LogEntry> = {}): LogEntry {
  return {
    ...{ startMs, method: 'GET', target: '/search', host: undefined, address: '20.0.0.1' },
    ...{ forwardedFor: undefined, status: 200, userAgent: 'Chrome', fields: [] },
    ...entry,
  };
}

/** Sorts the entries. With a policy file, its policies are the routes. */
export function trafficLogOf(entries: readonly LogEntry[], policyFile?: string): TrafficLog {
  const policies = policySetFrom(policyFile ?? NO_POLICIES);
  const log = new TrafficLog({
    policies,
    requestOf: createLogRequests(policies, []),
    routes: policyFile === undefined ? findPathRoutes() : findPolicyRoutes(policies),
  });
  for (const entry of entries.toSorted((a, b) => a.startMs - b.startMs)) log.add(entry);
  return log;
}

export function suggestionsFor(
  entries: readonly LogEntry[],
  options: Partial<SuggestOptions> = {},
  policyFile?: string,
) {
  return suggest(trafficLogOf(entries, policyFile).recorded(), { ...OPTIONS, ...options });
}

export function addressOf(client: number): string {
  return `20.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
}

/** Bursts of a client: `count` requests in a minute, unevenly. */
export function burst(client: number, startMs: number, count: number): LogEntry[] {
  return Array.from({ length: count }, (_, i) =>
    entryOf(startMs + Math.floor((50_000 * i * i) / (count * count)), {
      address: addressOf(client),
    }),
  );
}
