/** What makes the store degraded, what ends that, and what the log says of it. */
import { expect, test } from 'vitest';
import { monitorStore } from '../../../../src/gateway/app/store-monitor.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

function setUp() {
  const observed = observedTelemetry();
  const { telemetry, clock, metrics } = observed;
  const monitor = monitorStore(telemetry, () => clock.nowMs);
  const fail = () => monitor.failed('timeout', new Error('late'), 1);
  const gauge = async () => Number((await metrics('degraded '))[0]?.split(' ')[1]);
  return { ...observed, monitor, fail, gauge };
}

test('a failing store is logged when it begins, once a minute while it lasts, and when it ends', () => {
  const { clock, events, fail, monitor } = setUp();
  for (let i = 0; i < 90; i++) {
    fail();
    clock.nowMs += 1_000;
  }
  expect(monitor.isDegraded()).toBe(true);
  clock.nowMs += 5_000;
  monitor.answered(1, 1);
  expect(monitor.isDegraded()).toBe(false);
  expect(events()).toEqual(['store_failed', 'store_failed', 'store_recovered']);
});

test('a store that fails again within a minute is logged again', () => {
  const { clock, events, fail, monitor } = setUp();
  fail();
  clock.nowMs += 5_000;
  monitor.answered(1, 1);
  fail();
  fail();
  expect(events()).toEqual(['store_failed', 'store_recovered', 'store_failed']);
});

test('a store that answers every other request stays degraded and does not fill the log', () => {
  const { clock, events, fail, monitor } = setUp();
  for (let i = 0; i < 1_000; i++) {
    fail();
    monitor.answered(1, 1);
    clock.nowMs += 10;
  }
  expect(monitor.isDegraded()).toBe(true);
  expect(events()).toEqual(['store_failed']);
});

test('the store is degraded until nothing has failed for five seconds', async () => {
  const { clock, fail, gauge, monitor } = setUp();
  expect(await gauge()).toBe(0);
  fail();
  for (const [afterMs, degraded] of [
    [1, 1],
    [4_998, 1],
    [1, 0],
  ] as const) {
    clock.nowMs += afterMs;
    monitor.answered(1, 1);
    expect(await gauge()).toBe(degraded);
  }
});

test('a store that no request uses recovers when it accepts the heartbeat', () => {
  const { clock, events, fail, monitor } = setUp();
  fail();
  monitor.heartbeatAccepted();
  expect(monitor.isDegraded()).toBe(true);
  clock.nowMs += 5_000;
  monitor.heartbeatAccepted();
  expect(monitor.isDegraded()).toBe(false);
  expect(events()).toEqual(['store_failed', 'store_recovered']);
});

test('a store that is given up and answers probes again and again stays degraded', () => {
  const { clock, events, fail, monitor } = setUp();
  for (let i = 0; i < 100; i++) {
    fail();
    monitor.givenUp();
    clock.nowMs += 150;
    monitor.probed();
    expect(monitor.isDegraded()).toBe(true);
  }
  expect(events()).toEqual(['store_failed']);
  clock.nowMs += 5_000;
  monitor.probed();
  expect(events()).toEqual(['store_failed', 'store_recovered']);
});

test('a new connection that counts ends it at once', () => {
  const { events, monitor } = setUp();
  monitor.connectionFailed(new Error('gone'));
  expect(monitor.isDegraded()).toBe(true);
  monitor.connected();
  expect(monitor.isDegraded()).toBe(false);
  expect(events()).toEqual(['store_connection_failed', 'store_recovered']);
});

test('connections that break again and again end it once a minute, and do not fill the log', () => {
  const { clock, events, fail, monitor } = setUp();
  // The connection of a healthy store does not count.
  monitor.connected();
  for (let i = 0; i < 100; i++) {
    fail();
    clock.nowMs += 40;
    monitor.connected();
  }
  expect(events()).toEqual(['store_failed', 'store_recovered', 'store_failed']);
  expect(monitor.isDegraded()).toBe(true);
  clock.nowMs += 5_000;
  monitor.connected();
  expect(events().at(-1)).toBe('store_recovered');
  fail();
  clock.nowMs += 60_000;
  fail();
  monitor.connected();
  expect(monitor.isDegraded()).toBe(false);
});

test('a clock that is set back by an hour does not prolong it', () => {
  const { clock, fail, monitor } = setUp();
  fail();
  clock.nowMs -= 3_600_000;
  monitor.answered(1, 1);
  expect(monitor.isDegraded()).toBe(false);
});

test('a gateway that starts without its store is degraded', () => {
  const { events, monitor } = setUp();
  monitor.startedUncounted({ allow: [], local: [], deny: [] });
  expect(monitor.isDegraded()).toBe(true);
  expect(events()).toEqual(['started_uncounted']);
});

test('a lost heartbeat and unread overrides are logged only while the store is healthy', () => {
  const { clock, events, fail, monitor } = setUp();
  fail();
  monitor.heartbeatLost(new Error('late'));
  monitor.overridesUnread(new Error('late'));
  expect(events()).toEqual(['store_failed']);
  clock.nowMs += 5_000;
  monitor.answered(1, 1);
  monitor.heartbeatLost(new Error('late'));
  monitor.overridesUnread(new Error('late'));
  expect(events().slice(2)).toEqual(['heartbeat_lost', 'overrides_unread']);
});

test('round trips, failures and give-ups are counted', async () => {
  const { fail, metrics, monitor } = setUp();
  monitor.answered(2, 3);
  fail();
  monitor.givenUp();
  expect(await metrics('store_duration_seconds_')).toContain(
    'headgate_store_duration_seconds_sum 0.002',
  );
  expect(await metrics('store_batch_requests_')).toContain('headgate_store_batch_requests_sum 3');
  expect(await metrics('store_errors')).toEqual([
    'headgate_store_errors_total{reason="timeout"} 1',
  ]);
  expect(await metrics('store_given_up')).toEqual(['headgate_store_given_up_total 1']);
});

test('its condition has since when, and the last failure in a few words', () => {
  const { clock, fail, monitor } = setUp();
  const startMs = clock.nowMs;
  expect(monitor.condition()).toEqual({ isDegraded: false, sinceMs: startMs, reason: undefined });
  clock.nowMs += 1_000;
  fail();
  clock.nowMs += 1_000;
  monitor.connectionFailed(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
  const failing = { isDegraded: true, sinceMs: startMs + 1_000 };
  expect(monitor.condition()).toEqual({ ...failing, reason: 'connection: ECONNREFUSED' });
  monitor.givenUp();
  expect(monitor.condition()).toEqual({ ...failing, reason: 'given_up' });
  clock.nowMs += 5_000;
  monitor.answered(1, 1);
  expect(monitor.condition()).toEqual({
    ...{ isDegraded: false, sinceMs: startMs + 7_000, reason: undefined },
  });
});

test('one late answer among many is a lapse', () => {
  const { clock, fail, monitor } = setUp();
  for (let i = 0; i < 50; i++) {
    monitor.answered(1, 2);
    clock.nowMs += 100;
  }
  expect(monitor.condition().lapses).toBeUndefined();
  fail();
  const lapses = { failed: 1, checks: 101, withinMs: 10_000 };
  expect(monitor.condition()).toMatchObject({ isDegraded: true, lapses, sinceMs: clock.nowMs });
  clock.nowMs += 6_000;
  fail();
  expect(monitor.condition().lapses).toEqual({ failed: 2, checks: 62, withinMs: 10_000 });
});

test('a store that is given up does not answer since its last answer', () => {
  const { clock, fail, monitor } = setUp();
  monitor.answered(1, 1);
  const lastMs = clock.nowMs;
  clock.nowMs += 3_000;
  for (let i = 0; i < 5; i++) fail();
  monitor.givenUp();
  monitor.failed('timeout', new Error('late'), 0);
  expect(monitor.condition()).toMatchObject({ isDegraded: true, lapses: undefined });
  expect(monitor.condition().sinceMs).toBe(lastMs + 3_000);
  monitor.probed();
  monitor.answered(1, 1);
  expect(monitor.condition().lapses).toEqual({ failed: 5, checks: 7, withinMs: 10_000 });
});

test('a store that refuses every connection or check does not answer, whatever it did before', () => {
  const { clock, monitor } = setUp();
  monitor.answered(1, 100);
  monitor.failed('oom', new Error('full'), 1);
  expect(monitor.condition()).toMatchObject({ isDegraded: true, lapses: undefined });
  monitor.answered(1, 1);
  expect(monitor.condition().lapses).toEqual({ failed: 1, checks: 102, withinMs: 10_000 });
  clock.nowMs += 2_000;
  monitor.connectionFailed(new Error('gone'));
  expect(monitor.condition()).toMatchObject({ lapses: undefined, sinceMs: clock.nowMs - 2_000 });
  // A heartbeat alone does not show that checks are counted.
  clock.nowMs += 20_000;
  monitor.heartbeatAccepted();
  monitor.failed('noperm', new Error('no'), 1);
  expect(monitor.condition().lapses).toBeUndefined();
});

test('a store whose answers are late has no lapses while not one of them has come', () => {
  const { clock, fail, monitor } = setUp();
  fail();
  expect(monitor.condition().lapses).toBeUndefined();
  // An answer that counted nothing is one.
  monitor.heartbeatAccepted();
  expect(monitor.condition().lapses).toEqual({ failed: 1, checks: 1, withinMs: 10_000 });
  fail();
  expect(monitor.condition().lapses).toBeUndefined();
  monitor.answered(1, 3);
  fail();
  expect(monitor.condition().lapses).toEqual({ failed: 3, checks: 6, withinMs: 10_000 });
  clock.nowMs += 10_000;
  fail();
  expect(monitor.condition().lapses).toBeUndefined();
});

test('the checks of the last ten seconds are its lapses, to the second', () => {
  const { clock, fail, monitor } = setUp();
  clock.nowMs += 999;
  monitor.answered(1, 5);
  fail();
  clock.nowMs += 9_000;
  fail();
  expect(monitor.condition().lapses).toEqual({ failed: 2, checks: 7, withinMs: 10_000 });
  clock.nowMs += 1;
  monitor.answered(1, 2);
  expect(monitor.condition().lapses).toEqual({ failed: 1, checks: 3, withinMs: 10_000 });
});
