import { describe, expect, test } from 'vitest';
import { unmeasured } from '../../../src/core/decision.ts';
import { compilePolicy } from '../../../src/core/policy.ts';
import { createTelemetry } from '../../../src/telemetry/telemetry.ts';
import { quotaOf } from '../../support/quotas.ts';
import { NOON_MS } from '../../support/requests.ts';

function setUp() {
  const clock = { nowMs: NOON_MS };
  const lines: string[] = [];
  const telemetry = createTelemetry({
    level: 'info',
    version: '1.2.3',
    now: () => clock.nowMs,
    destination: { write: (line) => void lines.push(line) },
  });
  const events = () => lines.map((line) => JSON.parse(line).event);
  return { clock, lines, events, telemetry };
}

test('a misconfigured proxy is logged once a minute, and counted every time', async () => {
  const { clock, events, telemetry } = setUp();
  for (let i = 0; i < 120; i++) {
    telemetry.proxyMisconfigured('nginx', ['x-original-uri']);
    clock.nowMs += 1_000;
  }
  expect(events()).toEqual(['proxy_misconfigured', 'proxy_misconfigured']);
  expect(await telemetry.registry.metrics()).toContain(
    'headgate_misconfigured_requests_total{dialect="nginx"} 120',
  );
});

describe('a failing store', () => {
  test('is logged when it begins, once a minute while it lasts, and when it is over', () => {
    const { clock, events, telemetry } = setUp();
    for (let i = 0; i < 90; i++) {
      telemetry.storeFailed('timeout', new Error('late'));
      clock.nowMs += 1_000;
    }
    expect(telemetry.isDegraded()).toBe(true);
    clock.nowMs += 5_000;
    telemetry.storeAnswered(1, 1);
    expect(telemetry.isDegraded()).toBe(false);
    expect(events()).toEqual(['store_failed', 'store_failed', 'store_recovered']);
  });
  test('that nobody asks any more is well when it takes the heartbeat', () => {
    const { clock, events, telemetry } = setUp();
    telemetry.storeFailed('timeout', new Error('late'));
    telemetry.heartbeatTaken();
    expect(telemetry.isDegraded()).toBe(true);
    clock.nowMs += 5_000;
    telemetry.heartbeatTaken();
    expect(telemetry.isDegraded()).toBe(false);
    expect(events()).toEqual(['store_failed', 'store_recovered']);
  });
  test('that is given up and answers probes again and again is degraded all the time', () => {
    const { clock, events, telemetry } = setUp();
    for (let i = 0; i < 100; i++) {
      telemetry.storeFailed('timeout', new Error('late'));
      telemetry.storeGivenUp();
      clock.nowMs += 150;
      telemetry.storeProbed();
      expect(telemetry.isDegraded()).toBe(true);
    }
    expect(events()).toEqual(['store_failed']);
    clock.nowMs += 5_000;
    telemetry.storeAnswered(1, 1);
    expect(events()).toEqual(['store_failed', 'store_recovered']);
  });
  test('is degraded until nothing has failed for five seconds', async () => {
    const { clock, telemetry } = setUp();
    const gauge = async () =>
      /^headgate_degraded (\d)$/m.exec(await telemetry.registry.metrics())?.[1];
    telemetry.storeFailed('timeout', new Error('late'));
    for (const [afterMs, degraded] of [
      [1, '1'],
      [4_998, '1'],
      [1, '0'],
    ] as const) {
      clock.nowMs += afterMs;
      telemetry.storeAnswered(1, 1);
      expect(await gauge()).toBe(degraded);
    }
  });
  test('is well at once when a new connection counts', () => {
    const { events, telemetry } = setUp();
    telemetry.storeConnectionFailed(new Error('gone'));
    telemetry.storeConnected();
    expect(telemetry.isDegraded()).toBe(false);
    expect(events()).toEqual(['store_connection_failed', 'store_recovered']);
  });
  test('whose connections break again and again fills no log', () => {
    const { clock, events, telemetry } = setUp();
    for (let i = 0; i < 100; i++) {
      telemetry.storeFailed('malformed', new Error('out of step'));
      clock.nowMs += 40;
      telemetry.storeConnected();
    }
    expect(events()).toEqual(['store_failed', 'store_recovered', 'store_failed']);
    expect(telemetry.isDegraded()).toBe(true);
    clock.nowMs += 5_000;
    telemetry.storeAnswered(1, 1);
    expect(events().at(-1)).toBe('store_recovered');
  });
  test('is not degraded for an hour because the clock was set back by one', () => {
    const { clock, telemetry } = setUp();
    telemetry.storeFailed('timeout', new Error('late'));
    clock.nowMs -= 3_600_000;
    telemetry.storeAnswered(1, 1);
    expect(telemetry.isDegraded()).toBe(false);
  });
  test('that answers every other time fills no log', () => {
    const { clock, events, telemetry } = setUp();
    for (let i = 0; i < 1_000; i++) {
      telemetry.storeFailed('timeout', new Error('late'));
      telemetry.storeAnswered(1, 1);
      clock.nowMs += 10;
    }
    expect(events()).toEqual(['store_failed']);
  });
});

test('an allow that nobody measured is not counted as one', async () => {
  const { telemetry } = setUp();
  const quota = quotaOf({ limit: 5, windowMs: 1_000 });
  const limits = [{ ...quota, window: '1s', per: 'client' as const }];
  const policy = compilePolicy(
    { name: 'a', cost: 1, onStoreFailure: 'allow', limits, plans: new Map() },
    { unverified: 2, widerNetworks: [] },
  );
  telemetry.decided(unmeasured('open', policy), 'envoy', 1);
  telemetry.decided(unmeasured('closed', policy), 'envoy', 1);
  const metrics = await telemetry.registry.metrics();
  expect(metrics).toContain('headgate_decisions_total{policy="a",verdict="error_allow"} 1');
  expect(metrics).toContain('headgate_decisions_total{policy="a",verdict="error_deny"} 1');
  expect(metrics).toContain('headgate_degraded_decisions_total{mode="open"} 1');
  expect(metrics).toContain('headgate_degraded_decisions_total{mode="closed"} 1');
});
