import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  allowance,
  atMostEvery,
  keysIn,
  listenTo,
} from '../../../../../src/gateway/stores/redis/channels.ts';
import { type RedisClient, untilReady } from '../../../../../src/gateway/stores/redis/client.ts';
import { withDeadline } from '../../../../../src/gateway/stores/redis/failures.ts';
import { createInFlight } from '../../../../../src/gateway/stores/redis/redis-store.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('an allowance is used up within a second, and whole again after it', () => {
  const clock = { nowMs: 5_000 };
  const mayDo = allowance(2, () => clock.nowMs);
  const take = () => [mayDo(), mayDo(), mayDo()];
  expect(take()).toEqual([true, true, false]);
  clock.nowMs += 999;
  expect(mayDo()).toBe(false);
  clock.nowMs += 1;
  expect(take()).toEqual([true, true, false]);
});

test('a function that is limited runs at once, then once per interval, and once after the last call', () => {
  const run = vi.fn();
  const call = atMostEvery(100, run);
  call();
  expect(run).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 50; i++) call();
  vi.advanceTimersByTime(99);
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1_000);
  expect(run).toHaveBeenCalledTimes(2);
  call();
  expect(run).toHaveBeenCalledTimes(3);
});

test('so many requests may be in flight, and no more', () => {
  const inFlight = createInFlight(2);
  inFlight.enter();
  inFlight.enter();
  expect(() => inFlight.enter()).toThrow('2 requests');
  inFlight.leave(2);
  inFlight.enter();
  inFlight.enter();
  expect(() => inFlight.enter()).toThrow('2 requests');
});

describe('a deadline', () => {
  test('passes on what comes in time, and leaves no timer', async () => {
    await expect(withDeadline(Promise.resolve(7), 50)).resolves.toBe(7);
    await expect(withDeadline(Promise.reject(new Error('no')), 50)).rejects.toThrow('no');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('prefers an answer that arrived while the process itself was late', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const ended = withDeadline(promise, 50);
    // The timer is due, and the answer is read in the same turn, after the timers.
    setTimeout(() => resolve('in time'), 50);
    await vi.advanceTimersByTimeAsync(51);
    await expect(ended).resolves.toBe('in time');
  });
});

test.each([
  ['["a","b"]', ['a', 'b']],
  ['["a",7,null]', ['a']],
  ['{"a":1}', []],
  ['not JSON', []],
  ['', []],
])('the keys of the reset message %s', (message, keys) => {
  expect(keysIn(message)).toEqual(keys);
});

/** A client whose events a test emits. */
function emitter(subscribe: () => Promise<unknown> = async () => 1) {
  const handlers = new Map<string, ((...args: string[]) => void)[]>();
  const on = (event: string, handler: (...args: string[]) => void) => {
    handlers.set(event, [...(handlers.get(event) ?? []), handler]);
  };
  const subscriptions: unknown[][] = [];
  const client = {
    status: 'connecting',
    on,
    once: on,
    subscribe: (...channels: unknown[]) => {
      subscriptions.push(channels);
      return subscribe();
    },
  };
  const emit = async (event: string, ...args: string[]) => {
    for (const handler of handlers.get(event) ?? []) handler(...args);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { client: client as unknown as RedisClient, raw: client, emit, subscriptions };
}

describe('a listener', () => {
  function setUp(subscribe?: () => Promise<unknown>) {
    const emitted = emitter(subscribe);
    const events: unknown[] = [];
    listenTo(['one', 'two'], emitted.client, {
      onListening: () => events.push('listening'),
      onMessage: (message, channel) => events.push([channel, message]),
      onDeaf: (reason) => events.push(['deaf', reason]),
    });
    return { ...emitted, events };
  }

  test('subscribes to its channels whenever the connection is made', async () => {
    const { emit, events, subscriptions } = setUp();
    await emit('ready');
    await emit('close');
    await emit('ready');
    expect(subscriptions).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
    expect(events).toEqual(['listening', ['deaf', undefined], 'listening']);
  });

  test('says why it cannot subscribe', async () => {
    const reason = new Error('NOPERM');
    const { emit, events } = setUp(() => Promise.reject(reason));
    await emit('ready');
    expect(events).toEqual([['deaf', reason]]);
  });

  test('passes on messages of its own channels, and empty ones for those that are too long', async () => {
    const { emit, events } = setUp();
    await emit('message', 'one', 'hello');
    await emit('message', 'three', 'not ours');
    await emit('message', 'two', 'x'.repeat(262_144));
    await emit('message', 'two', 'x'.repeat(262_145));
    expect(events).toEqual([
      ['one', 'hello'],
      ['two', 'x'.repeat(262_144)],
      ['two', ''],
    ]);
  });
});

describe('waiting until Redis is ready', () => {
  const broken = new Error('ECONNREFUSED');
  const wait = (client: RedisClient, error?: Error) =>
    Promise.allSettled([untilReady(client, { withinMs: 50, connectionError: () => error })]);

  test('ends at once if it is', async () => {
    const { client, raw } = emitter();
    raw.status = 'ready';
    expect(await wait(client)).toEqual([{ status: 'fulfilled', value: undefined }]);
  });

  test('ends when the connection is made', async () => {
    const { client, raw, emit } = emitter();
    const waited = wait(client);
    raw.status = 'ready';
    await emit('ready');
    expect(await waited).toEqual([{ status: 'fulfilled', value: undefined }]);
  });

  test.each([
    ['its error', broken, { message: 'ECONNREFUSED' }],
    ['a timeout', undefined, { reason: 'timeout' }],
  ])('is limited in time, and fails with %s', async (_, error, reason) => {
    const waited = wait(emitter().client, error);
    await vi.advanceTimersByTimeAsync(51);
    expect(await waited).toMatchObject([{ status: 'rejected', reason }]);
  });

  test.each([
    ['its error', broken, { message: 'ECONNREFUSED' }],
    ['a reason', undefined, { reason: 'connection' }],
  ])('fails with %s when the connection is given up', async (_, error, reason) => {
    const { client, emit } = emitter();
    const waited = wait(client, error);
    await emit('end');
    expect(await waited).toMatchObject([{ status: 'rejected', reason }]);
  });
});
