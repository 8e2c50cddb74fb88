import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type QuotaStore,
  StoreError,
  type StoreErrorReason,
  type TakeResult,
} from '../../../src/core/store.ts';
import { Breaker } from '../../../src/stores/breaker.ts';

const ADMITTED: TakeResult = { admitted: true, states: [], nowMs: 0 };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp() {
  const events: string[] = [];
  const redis = { fails: undefined as StoreErrorReason | undefined, asked: 0, probed: 0 };
  const answer = () =>
    redis.fails ? Promise.reject(new StoreError(redis.fails, 'no')) : Promise.resolve(ADMITTED);
  const store: QuotaStore = {
    take: () => {
      redis.asked++;
      return answer();
    },
    reset: async () => {},
  };
  const probe = () => {
    redis.probed++;
    return answer();
  };
  const breaker = new Breaker({
    store,
    probe,
    onOpen: () => events.push('open'),
    onClose: () => events.push('close'),
  });
  const reasons = async (times: number) => {
    const found: (string | undefined)[] = [];
    for (let i = 0; i < times; i++) {
      // Each in a turn of its own.
      await vi.advanceTimersByTimeAsync(0);
      found.push(
        await breaker.take([]).then(
          () => undefined,
          (error: StoreError) => error.reason,
        ),
      );
    }
    return found;
  };
  return { breaker, redis, events, reasons };
}

describe('a breaker', () => {
  test('counts answers that are late together as one', async () => {
    const { breaker, redis, events } = setUp();
    redis.fails = 'timeout';
    for (let turn = 0; turn < 4; turn++) {
      await Promise.allSettled(Array.from({ length: 100 }, () => breaker.take([])));
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(events).toEqual([]);
    await breaker.take([]).catch(() => {});
    expect(events).toEqual(['open']);
  });
  test('stops asking after five answers in a row that came too late', async () => {
    const { redis, events, reasons } = setUp();
    redis.fails = 'timeout';
    expect(await reasons(7)).toEqual([...Array(5).fill('timeout'), 'given_up', 'given_up']);
    expect(redis.asked).toBe(5);
    expect(events).toEqual(['open']);
  });

  test('does not stop for late answers among others', async () => {
    const { redis, events, reasons } = setUp();
    for (let round = 0; round < 5; round++) {
      redis.fails = 'timeout';
      await reasons(4);
      redis.fails = undefined;
      await reasons(1);
    }
    expect(events).toEqual([]);
  });

  test.each(['oom', 'connection', 'readonly', 'noperm'] as const)(
    'goes on asking a store that refuses at once (%s)',
    async (reason) => {
      const { redis, events, reasons } = setUp();
      redis.fails = reason;
      expect(await reasons(50)).toEqual(Array(50).fill(reason));
      redis.fails = undefined;
      expect(await reasons(1)).toEqual([undefined]);
      expect(events).toEqual([]);
    },
  );

  test('asks for itself until there is an answer, and then goes on', async () => {
    const { redis, events, reasons } = setUp();
    redis.fails = 'timeout';
    await reasons(5);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(redis.probed).toBeGreaterThanOrEqual(6);
    expect(redis.probed).toBeLessThanOrEqual(10);
    expect(await reasons(1)).toEqual(['given_up']);
    redis.fails = undefined;
    await vi.advanceTimersByTimeAsync(150);
    expect(await reasons(2)).toEqual([undefined, undefined]);
    expect(events).toEqual(['open', 'close']);
  });

  test('that is closed asks nothing more', async () => {
    const { breaker, redis, reasons } = setUp();
    redis.fails = 'timeout';
    await reasons(5);
    breaker.close();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(redis.probed).toBe(0);
  });
});
