/** What a start finds of Redis, and how long it waits for it. */
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { firstContact } from '../../../../../src/gateway/app/redis/heartbeat.ts';

// Fake timers do not reach this module by themselves.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, value?: unknown) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms, value);
    }),
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** `refusals`: how many heartbeats Redis refuses before it accepts one. */
function setUp({ refusals = 0, contactMs = 0 } = {}) {
  const client = new EventEmitter();
  let beats = 0;
  const heartbeat = {
    beat: async () => {
      beats++;
      if (beats <= refusals) throw new Error('READONLY');
    },
    lost: vi.fn(),
    reconnected: vi.fn(),
  };
  const monitor = { connected: vi.fn() };
  const onContact = vi.fn(async () => {
    await new Promise((resolve) => setTimeout(resolve, contactMs));
  });
  const found = firstContact({
    onConnected: (act) => client.on('ready', act),
    ...{ heartbeat, monitor, onContact },
  });
  let outcome: string | undefined;
  void found.then((state) => {
    outcome = state;
  });
  return { client, heartbeat, monitor, onContact, outcome: () => outcome, beats: () => beats };
}

test('a start without Redis waits half a second', async () => {
  const { monitor, outcome } = setUp();
  await vi.advanceTimersByTimeAsync(499);
  expect(outcome()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(outcome()).toBe('unreachable');
  expect(monitor.connected).not.toHaveBeenCalled();
});

test('a start with Redis ends once it counts, and salts and overrides are read', async () => {
  const { client, heartbeat, monitor, onContact, outcome } = setUp({ contactMs: 20 });
  client.emit('ready');
  await vi.advanceTimersByTimeAsync(19);
  expect(outcome()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(outcome()).toBe('counts');
  expect(heartbeat.reconnected).toHaveBeenCalledOnce();
  expect(monitor.connected).toHaveBeenCalledOnce();
  expect(onContact).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test('a start waits five seconds for salts once Redis counts, which is not reported before', async () => {
  const { client, monitor, outcome } = setUp({ contactMs: 6_000 });
  client.emit('ready');
  await vi.advanceTimersByTimeAsync(4_999);
  expect(outcome()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(outcome()).toBe('counts');
  expect(monitor.connected).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(monitor.connected).toHaveBeenCalledOnce();
});

test('a first heartbeat that fails is tried again after 25 milliseconds', async () => {
  const { client, beats, heartbeat, outcome } = setUp({ refusals: 2 });
  client.emit('ready');
  await vi.advanceTimersByTimeAsync(49);
  expect(beats()).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(outcome()).toBe('counts');
  expect(heartbeat.lost).not.toHaveBeenCalled();
});

test('a Redis that refuses to count ends the start after half a second', async () => {
  const { client, beats, heartbeat, monitor, outcome } = setUp({ refusals: 1_000 });
  client.emit('ready');
  await vi.advanceTimersByTimeAsync(500);
  expect(outcome()).toBe('refuses');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(heartbeat.lost).toHaveBeenCalledOnce();
  expect(monitor.connected).not.toHaveBeenCalled();
  expect(beats()).toBeLessThan(25);
});

test('each later connection is reported, and reads salts and overrides again', async () => {
  const { client, heartbeat, monitor, onContact } = setUp();
  await vi.advanceTimersByTimeAsync(500);
  for (let connections = 1; connections <= 3; connections++) {
    client.emit('ready');
    await vi.advanceTimersByTimeAsync(1);
    expect(heartbeat.reconnected).toHaveBeenCalledTimes(connections);
    expect(monitor.connected).toHaveBeenCalledTimes(connections);
    expect(onContact).toHaveBeenCalledTimes(connections);
  }
});

test('a later connection that does not count is reported, and not retried here', async () => {
  const { client, beats, heartbeat } = setUp({ refusals: 1 });
  await vi.advanceTimersByTimeAsync(500);
  client.emit('ready');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(heartbeat.lost).toHaveBeenCalledOnce();
  expect(beats()).toBe(1);
});
