/** Real Envoys that charge the rate limit service, at more calls than the limit: calls go on being admitted. */
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { call } from '../support/http.ts';
import { ENVOYS, type RunningProxy, startEnvoyRateLimit } from '../support/proxies.ts';
import { startRateLimitGateway } from '../support/rate-limits.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const rules = (perSecond: number) => `
domain: edge
descriptors:
  - key: generic_key
    value: downloads
    descriptors:
      - { key: remote_address, rate_limit: { unit: second, requests_per_unit: ${perSecond} } }
`;
const ACTIONS =
  '- actions: [{ generic_key: { descriptor_value: downloads } }, { remote_address: {} }]\n';
const INDENT = ' '.repeat(32);
const AT_THE_END = `${INDENT}${ACTIONS}${INDENT}  hits_addend: { format: "%BYTES_SENT%" }\n${INDENT}  apply_on_stream_done: true\n`;
const CALLS_PER_SECOND = 20;
/** The application's answers have 15 bytes, and a denial 200 and more. */
const ONE_ANSWER = 15;
const programs = inject('programs');
let clients = 0;

/** Calls until so many were let through after the first denial. */
async function callUntil(wanted: number, url: string): Promise<number> {
  const agent = new Agent({ localAddress: `127.0.3.${++clients}` });
  let denied = 0;
  let passed = 0;
  while (passed < wanted) {
    const { status } = await call(url, '/downloads/a', { agent });
    if (status === 429) denied++;
    else if (denied > 0) passed++;
    await pause(1_000 / CALLS_PER_SECOND);
  }
  return denied;
}

describe.each(ENVOYS)('%s', (program) => {
  describe.skipIf(programs[program] === undefined)('goes on letting calls through', () => {
    const started = new AsyncDisposableStack();
    let upstream: Upstream;
    beforeAll(async () => {
      upstream = started.use(await startUpstream());
    });
    afterAll(() => started.disposeAsync());

    test.each<{ what: string; perSecond: number; changes: Record<string, string>; wanted: number }>(
      [
        {
          what: 'a charge of 1 before the request',
          perSecond: 5,
          changes: { 'hits_addend: { number: 0 }': 'hits_addend: { number: 1 }', [AT_THE_END]: '' },
          wanted: 15,
        },
        {
          what: 'a check of 0, and a charge of 1 at the end of each stream, also of those that Envoy denied',
          perSecond: 5,
          changes: { 'format: "%BYTES_SENT%"': 'number: 1' },
          wanted: 5,
        },
        {
          what: 'a check of 0, and the bytes of answers and of denials',
          perSecond: 10 * ONE_ANSWER,
          changes: {},
          wanted: 5,
        },
      ],
    )('$what', { timeout: 120_000 }, async ({ perSecond, changes, wanted }) => {
      await using gateway = await startRateLimitGateway(rules(perSecond));
      const behind = { headgate: 0, grpc: gateway.grpcPort, application: upstream.port, changes };
      await using proxy: RunningProxy = await startEnvoyRateLimit(behind, program);
      expect(await callUntil(wanted, proxy.url)).toBeGreaterThan(0);
    });
  });
});
