/** The limits of Envoy's rate limit filter in a gateway: where they come from, and what is said until there are some. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { OpenResources } from '../../../../../src/gateway/app/open-resources.ts';
import { openRateLimits } from '../../../../../src/gateway/app/ratelimit/rate-limits.ts';
import { createSharedState } from '../../../../../src/gateway/app/shared-state.ts';
import { monitorStore } from '../../../../../src/gateway/app/store-monitor.ts';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import type { Denials } from '../../../../../src/gateway/denials/denials.ts';
import type { AnsweredCall } from '../../../../../src/gateway/ratelimit/call.ts';
import type { Pending } from '../../../../../src/gateway/server/handler.ts';
import { NO_TRACING, type Tracing } from '../../../../../src/gateway/telemetry/tracing/tracing.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import { observedTelemetry } from '../../../../support/telemetry.ts';
import { temporaryFile } from '../../../../support/temporary.ts';

const RULES =
  'domain: d\ndescriptors: [{ key: u, rate_limit: { unit: day, requests_per_unit: 1 } }]\n';
const TWO_RULES = `${RULES.slice(0, -2)}, { key: v, rate_limit: { unit: hour, requests_per_unit: 2 } }]\n`;
const CALL = '{"domain":"d","descriptors":[{"entries":[{"key":"u","value":"somebody"}]}]}';

let started: AsyncDisposableStack;
let resources: OpenResources;
let faults: unknown[];
beforeEach(() => {
  started = new AsyncDisposableStack();
  resources = new OpenResources();
  faults = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await resources.close();
  await started.disposeAsync();
});

async function open(settings: NodeJS.ProcessEnv, tracing: Tracing = NO_TRACING) {
  const observed = observedTelemetry();
  const { telemetry } = observed;
  const environment = readEnvironment({ HEADGATE_PORT: '0', HEADGATE_GRPC_PORT: '0', ...settings });
  const { rateLimit } = environment;
  if (rateLimit === undefined) throw new Error('there are no settings of the rate limit service');
  const now = () => NOON_MS;
  const shared = await createSharedState({
    ...{ environment, telemetry, resources, now },
    policies: { current: policySetFrom('{ version: 1, default: { limits: [5/1h] } }') },
    monitor: monitorStore(telemetry, now),
    onReset: () => {},
  });
  await shared.connect();
  const handle = async (pending: Pending<AnsweredCall>) => {
    try {
      pending.answer(await pending.decide());
    } catch (error) {
      if (pending.fail(error)) faults.push(error);
    }
  };
  const limits = await openRateLimits({
    ...{ settings: rateLimit, shared, telemetry, tracing, now, resources },
    denials: { name: () => 'd.1', wouldDeny: () => {} } as unknown as Denials,
    handle: handle as never,
  });
  const ask = async (call = CALL) => (await limits.service.answerJson(call, {})).status;
  return { ...observed, limits, ask };
}

describe('files', () => {
  test('are in force at once, count, and are named', async () => {
    const file = temporaryFile(started, TWO_RULES);
    const { limits, ask, lines, metrics } = await open({ HEADGATE_RATELIMIT_CONFIG: file });
    expect(limits.isHealthy()).toBe(true);
    expect(limits.policies()).toHaveLength(2);
    expect(lines()).toMatchObject([{ event: 'rate_limits_loaded', limits: 2 }]);
    expect([await ask(), await ask()]).toEqual([200, 429]);
    expect((await metrics('ratelimit_hits_total')).sort()).toEqual([
      'headgate_ratelimit_hits_total{limit="d.u",outcome="near"} 1',
      'headgate_ratelimit_hits_total{limit="d.u",outcome="over"} 1',
    ]);
    expect(faults).toEqual([]);
  });

  test('with mistakes keep the gateway from starting', async () => {
    const file = temporaryFile(started, 'domain: d\ndescriptors: 1\n');
    await expect(open({ HEADGATE_RATELIMIT_CONFIG: file })).rejects.toBeInstanceOf(ConfigError);
  });

  test('are read again on demand, and with mistakes the limits in force stay', async () => {
    const file = temporaryFile(started, RULES);
    const { limits, lines } = await open({ HEADGATE_RATELIMIT_CONFIG: file });
    writeFileSync(file, TWO_RULES);
    await limits.reload();
    expect(limits.policies()).toHaveLength(2);
    writeFileSync(file, 'domain: d\ndescriptors: 1\n');
    await limits.reload();
    expect(limits.policies()).toHaveLength(2);
    expect(lines()).toMatchObject([
      { event: 'rate_limits_loaded', limits: 1 },
      { event: 'rate_limits_loaded', limits: 2 },
      { event: 'rate_limits_refused', more: 0, mistakes: [expect.stringContaining(file)] },
    ]);
  });
});

/** It accepts connections, and never answers. */
async function silentControlPlane() {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  started.defer(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('until a control plane has sent limits', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

  test.each<[string | undefined, number, boolean, string]>([
    ['allow', 200, true, 'pass'],
    ['fail', 503, true, 'fail'],
    ['unhealthy', 503, false, 'fail'],
  ])(
    'with %s, calls are answered %i, healthy is %s, and reminders say %s',
    async (before, status, isHealthy, says) => {
      const { limits, ask, lines, events } = await open({
        HEADGATE_RATELIMIT_CONTROL_PLANE: await silentControlPlane(),
        HEADGATE_RATELIMIT_NODE: 'a-node',
        HEADGATE_RATELIMIT_BEFORE_LIMITS: before,
      });
      expect(limits.policies()).toEqual([]);
      expect(limits.isHealthy()).toBe(isHealthy);
      expect(await ask()).toBe(status);
      expect(faults).toEqual([]);
      const reminders = () => events().filter((event) => event === 'rate_limits_missing').length;
      vi.advanceTimersByTime(2_999);
      expect(reminders()).toBe(0);
      vi.advanceTimersByTime(1);
      expect(lines().filter(({ event }) => event === 'rate_limits_missing')).toMatchObject([
        { level: 40, calls: says },
      ]);
      vi.advanceTimersByTime(59_999);
      expect(reminders()).toBe(1);
      vi.advanceTimersByTime(1);
      expect(reminders()).toBe(2);
      await resources.close();
      vi.advanceTimersByTime(600_000);
      expect(reminders()).toBe(2);
    },
  );
});

test('a sampled call is decided in its span', async () => {
  const told: unknown[] = [];
  const tracing: Tracing = {
    close: async () => {},
    startSpan: () => ({
      startTake(descriptors) {
        told.push(`take of ${descriptors}`);
        return { answered: (admitted) => told.push(admitted), failed: () => told.push('failed') };
      },
      decided: ({ verdict }) => void told.push(verdict),
      failed: (error) => void told.push(error),
    }),
  };
  const file = temporaryFile(started, RULES);
  const { ask } = await open({ HEADGATE_RATELIMIT_CONFIG: file }, tracing);
  expect(await ask()).toBe(200);
  expect(told).toEqual(['take of 1', true, 'allow']);
});
