import calculateSlot from 'cluster-key-slot';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StoreErrorReason } from '../../../../../src/gateway/core/counting/store.ts';
import { ClusterStore } from '../../../../../src/gateway/stores/redis/cluster-store.ts';
import { overIoredis } from '../../../../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight } from '../../../../../src/gateway/stores/redis/redis-store.ts';
import { descriptorOf } from '../../../../support/quotas.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import {
  admitting,
  type Reply,
  scriptCall,
  scriptedClient,
} from '../../../../support/scripted-redis-client.ts';

const DEADLINE_MS = 50;

beforeEach(() =>
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }),
);
afterEach(() => vi.useRealTimers());

function setUp(reply: Reply) {
  const { client, sent } = scriptedClient(reply);
  const errors: StoreErrorReason[] = [];
  const store = new ClusterStore({
    connection: overIoredis(client),
    inFlight: createInFlight(100),
    deadlineMs: DEADLINE_MS,
    onError: (reason) => errors.push(reason),
  });
  const ended = async <T>(result: Promise<T>) => {
    const settled = Promise.allSettled([result]);
    await vi.advanceTimersByTimeAsync(4 * DEADLINE_MS);
    return (await settled)[0];
  };
  return { store, errors, ended, keys: () => sent.map((each) => scriptCall(each).keys) };
}

const limit = (key: string, most: number, windowMs = 60_000) =>
  descriptorOf(key, { limit: most, windowMs });
/** Two keys of one slot, and one of another. */
const [WIDE, WIDE_TOO, NARROW] = [limit('{a}1', 9), limit('{a}2', 8), limit('{b}1', 2)];
const denied: Reply = (command) => [scriptCall(command).number, NOON_MS, -1, 500, 400];

test('the keys of the examples lie in two slots', () => {
  expect(calculateSlot('{a}1')).toBe(calculateSlot('{a}2'));
  expect(calculateSlot('{a}1')).not.toBe(calculateSlot('{b}1'));
});

test('requests of one slot share a call, and other slots have calls of their own', async () => {
  const { store, ended, keys } = setUp((command) => admitting(command, NOON_MS));
  const taken = Promise.all([
    store.take([WIDE, WIDE_TOO]),
    store.take([WIDE]),
    store.take([NARROW]),
  ]);
  await ended(taken);
  expect(keys()).toEqual([['{a}1', '{a}2', '{a}1'], ['{b}1']]);
});

test('a request of several slots takes from the lowest rate first', async () => {
  const { store, ended, keys } = setUp((command) =>
    admitting(command, NOON_MS, scriptCall(command).keys.length),
  );
  expect(await ended(store.take([WIDE, NARROW, WIDE_TOO]))).toMatchObject({
    value: { admitted: true, states: [{ remaining: 2 }, { remaining: 1 }, { remaining: 2 }] },
  });
  expect(keys()).toEqual([['{b}1'], ['{a}1', '{a}2']]);
});

test('the rate of a limit depends on its window and on the cost of the request', async () => {
  const { store, ended, keys } = setUp((command) => admitting(command, NOON_MS));
  await ended(store.take([limit('{a}1', 9, 60_000), limit('{b}1', 90, 3_600_000)]));
  const costly = { ...limit('{a}1', 90), cost: 20 };
  await ended(store.take([limit('{b}1', 8), { ...costly, cost: 1 }]));
  expect(keys()).toEqual([['{b}1'], ['{a}1'], ['{b}1'], ['{a}1']]);
  await ended(store.take([limit('{b}1', 8), costly]).catch(() => {}) as Promise<unknown>);
  expect(keys()[4]).toEqual(['{a}1']);
});

test('refunds come last', async () => {
  const { store, ended, keys } = setUp((command) => admitting(command, NOON_MS));
  await ended(store.take([{ ...NARROW, cost: -1 }, WIDE]));
  expect(keys()).toEqual([['{a}1'], ['{b}1']]);
});

test('a check has the rate of a request that takes one unit', async () => {
  const { store, ended, keys } = setUp((command) => admitting(command, NOON_MS));
  await ended(store.take([{ ...WIDE, cost: 0 }, NARROW]));
  await ended(store.take([WIDE, { ...NARROW, cost: 0 }]));
  expect(keys()).toEqual([['{b}1'], ['{a}1'], ['{b}1'], ['{a}1']]);
});

test('a denial by one slot spares the others', async () => {
  const { store, ended, keys } = setUp(denied);
  expect(await ended(store.take([WIDE, NARROW]))).toMatchObject({
    value: { admitted: false, states: [undefined, { remaining: 0, retryAfterMs: 400 }] },
  });
  expect(keys()).toEqual([['{b}1']]);
});

test('all slots together have one deadline, and none is called after it', async () => {
  const slow: Reply = async (command) => {
    await new Promise((resolve) => setTimeout(resolve, DEADLINE_MS - 10));
    return admitting(command, NOON_MS);
  };
  const { store, ended, keys, errors } = setUp(slow);
  const third = limit('{c}1', 99);
  expect(await ended(store.take([WIDE, NARROW, third]))).toMatchObject({
    reason: { name: 'StoreError', reason: 'timeout' },
  });
  expect(keys()).toEqual([['{b}1'], ['{a}1']]);
  expect(errors).toEqual(['timeout']);
});

test('an error of one slot is reported once', async () => {
  const { store, ended, errors } = setUp(() => Promise.reject(new Error('Connection is closed.')));
  expect(await ended(store.take([WIDE, NARROW]))).toMatchObject({
    reason: { reason: 'connection' },
  });
  expect(errors).toEqual(['connection']);
});

test('a peek reads every slot, and has the latest of their clocks', async () => {
  const { store, ended } = setUp((command) => {
    const { keys, number } = scriptCall(command);
    const nowMs = keys.length === 2 ? NOON_MS + 7 : NOON_MS;
    return [number, nowMs, ...keys.flatMap((key) => [-1 - (key === '{b}1' ? 2 : 8), 0])];
  });
  expect(await ended(store.peek([WIDE, NARROW, WIDE_TOO]))).toMatchObject({
    value: { nowMs: NOON_MS + 7, states: [{ remaining: 8 }, { remaining: 2 }, { remaining: 8 }] },
  });
});
