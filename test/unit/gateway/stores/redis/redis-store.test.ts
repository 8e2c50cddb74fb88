import { ReplyError } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  StoreError,
  type StoreErrorReason,
} from '../../../../../src/gateway/core/counting/store.ts';
import { overIoredis } from '../../../../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../../../../src/gateway/stores/redis/redis-store.ts';
import {
  PEEK_SCRIPT,
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
} from '../../../../../src/gateway/stores/redis/take-script.ts';
import { descriptorOf } from '../../../../support/quotas.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import {
  admitting,
  type Reply,
  type SentCommand,
  scriptCall,
  scriptedClient,
} from '../../../../support/scripted-redis-client.ts';

const DEADLINE_MS = 50;
const QUOTA = { limit: 5, windowMs: 1_000 };
const one = (key = 'a') => [descriptorOf(key, QUOTA)];
const forever = new Promise<never>(() => {});
const admit: Reply = (command) => admitting(command, NOON_MS);

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance'] }));
afterEach(() => vi.useRealTimers());

function setUp(reply: Reply, maxInFlight = 100) {
  const { client, sent, disconnects } = scriptedClient(reply);
  const errors: StoreErrorReason[] = [];
  const batches: number[] = [];
  const store = new RedisStore({
    connection: overIoredis(client),
    inFlight: createInFlight(maxInFlight),
    deadlineMs: DEADLINE_MS,
    onBatch: (_durationMs, requests) => batches.push(requests),
    onError: (reason) => errors.push(reason),
  });
  /** Takes in one turn, and how each of them ended: the units left, or why it failed. */
  const takeAll = async (requests: readonly ReturnType<typeof one>[]) => {
    const ends = requests.map((request) => endOf(store.take(request)));
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 1);
    return Promise.all(ends);
  };
  return { store, sent, disconnects, errors, batches, takeAll };
}

async function endOf(taken: ReturnType<RedisStore['take']>): Promise<unknown> {
  try {
    return (await taken).states[0]?.remaining;
  } catch (error) {
    return error instanceof StoreError ? error.reason : error;
  }
}

const batchesOf = (sent: readonly SentCommand[]) => sent.map((each) => scriptCall(each).keys);

describe('a batch', () => {
  test('holds all requests of one turn of the event loop', async () => {
    const { sent, batches, takeAll } = setUp(admit);
    expect(await takeAll([one('a'), one('b'), one('c')])).toEqual([1, 1, 1]);
    expect(batchesOf(sent)).toEqual([['a', 'b', 'c']]);
    expect(batches).toEqual([3]);
    await takeAll([one('d')]);
    expect(batchesOf(sent)).toEqual([['a', 'b', 'c'], ['d']]);
  });

  test('has at most 128 descriptors, so that one call does not block Redis for long', async () => {
    const { sent, takeAll } = setUp(admit, 1_000);
    const three = (n: number) => [one(`${n}a`), one(`${n}b`), one(`${n}c`)].flat();
    const ends = await takeAll(Array.from({ length: 100 }, (_, n) => three(n)));
    expect(ends).toEqual(Array(100).fill(1));
    // A request is never split: 42 of them have 126 descriptors.
    expect(batchesOf(sent).map((keys) => keys.length)).toEqual([126, 126, 48]);
    expect(batchesOf(sent).flat()).toEqual(
      Array.from({ length: 100 }, (_, n) => [`${n}a`, `${n}b`, `${n}c`]).flat(),
    );
  });

  test('holds 128 descriptors exactly', async () => {
    const { sent, takeAll } = setUp(admit, 1_000);
    await takeAll(Array.from({ length: 129 }, (_, n) => one(`${n}`)));
    expect(batchesOf(sent).map((keys) => keys.length)).toEqual([128, 1]);
  });

  test('takes a request that alone has more descriptors', async () => {
    const { sent, takeAll } = setUp(admit);
    const wide = Array.from({ length: 130 }, (_, n) => one(`${n}`)).flat();
    expect(await takeAll([wide, one('b')])).toEqual([1, 1]);
    expect(batchesOf(sent).map((keys) => keys.length)).toEqual([130, 1]);
  });
});

describe('requests in flight', () => {
  const ENDS: readonly [end: string, reply: Reply][] = [
    ['an answer', admit],
    ['an error', () => Promise.reject(new Error('Connection is closed.'))],
    ['the deadline', () => forever],
    ['a malformed reply', () => 'OK'],
  ];
  test.each(ENDS)(
    'are as many as the store may have, and free again after %s',
    async (_, reply) => {
      const { takeAll, sent } = setUp(reply, 3);
      for (let round = 1; round <= 4; round++) {
        const ends = await takeAll([one('a'), one('b'), one('c'), one('d')]);
        expect(ends.filter((end) => end === 'overloaded')).toHaveLength(1);
        expect(ends.at(-1)).toBe('overloaded');
        expect(sent).toHaveLength(round);
      }
    },
  );

  test('that are too many are reported, and not sent', async () => {
    const { takeAll, errors, sent } = setUp(admit, 1);
    await takeAll([one('a'), one('b')]);
    expect(errors).toEqual(['overloaded']);
    expect(batchesOf(sent)).toEqual([['a']]);
  });
});

describe('the deadline', () => {
  test('ends a take', async () => {
    const { store, errors } = setUp(() => forever);
    const end = endOf(store.take(one()));
    await vi.advanceTimersByTimeAsync(DEADLINE_MS - 1);
    expect(errors).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(errors).toEqual(['timeout']);
    expect(await end).toBe('timeout');
  });

  test('ends a peek', async () => {
    const { store } = setUp(() => forever);
    const end = Promise.allSettled([store.peek(one())]);
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 1);
    expect(await end).toMatchObject([{ status: 'rejected', reason: { reason: 'timeout' } }]);
  });

  test('ends a reset', async () => {
    const { store } = setUp(() => forever);
    const end = Promise.allSettled([store.reset(['a'])]);
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 1);
    expect(await end).toMatchObject([{ status: 'rejected', reason: { reason: 'timeout' } }]);
  });

  test('of all calls takes one timer, and none if no call waits', async () => {
    const { store } = setUp(admit);
    for (let call = 0; call < 3; call++) {
      const taken = store.take(one());
      await vi.advanceTimersByTimeAsync(DEADLINE_MS / 5);
      await taken;
      expect(vi.getTimerCount()).toBe(1);
    }
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('of each call is its own, whichever calls were answered', async () => {
    const isAnswered = [true, false, true, false];
    let calls = 0;
    const { store, errors } = setUp((command) => (isAnswered[calls++] ? admit(command) : forever));
    const ends = [];
    for (let call = 0; call < isAnswered.length; call++) {
      ends.push(endOf(store.take(one())));
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(DEADLINE_MS - 32);
    expect(errors).toEqual([]);
    await vi.advanceTimersByTimeAsync(4);
    expect(errors).toEqual(['timeout']);
    await vi.advanceTimersByTimeAsync(20);
    expect(await Promise.all(ends)).toEqual([1, 'timeout', 1, 'timeout']);
  });

  test('counts a late answer as late', async () => {
    const answers: (() => void)[] = [];
    const { store, errors, batches } = setUp(
      (command) => new Promise((resolve) => answers.push(() => resolve(admit(command)))),
    );
    const end = endOf(store.take(one()));
    await vi.advanceTimersByTimeAsync(DEADLINE_MS + 1);
    for (const answer of answers) answer();
    await vi.advanceTimersByTimeAsync(1);
    expect(await end).toBe('timeout');
    expect(errors).toEqual(['timeout']);
    expect(batches).toEqual([]);
  });
});

describe('the script', () => {
  test('is named by its digest, and sent in full only to a server that does not know it', async () => {
    const { sent, takeAll } = setUp((command) => {
      if (command.name === 'evalsha') throw new ReplyError('NOSCRIPT No matching script.');
      return admitting(command, NOON_MS);
    });
    expect(await takeAll([one('a'), one('b')])).toEqual([1, 1]);
    const [first, second] = sent.map((command) => ({ ...scriptCall(command), name: command.name }));
    expect(sent).toHaveLength(2);
    expect(first).toMatchObject({ name: 'evalsha', script: TAKE_SCRIPT_SHA });
    expect(second).toEqual({ ...first, name: 'eval', script: TAKE_SCRIPT });
  });

  test.each([
    new ReplyError('BUSY Redis is busy running a script.'),
    new ReplyError('OOM command not allowed'),
    new ReplyError('ERR NOSCRIPT is not how this begins'),
    new Error('Connection is closed.'),
  ])('is not sent again after any other error, because it may have counted: %s', async (error) => {
    const { sent, takeAll } = setUp(() => Promise.reject(error));
    await takeAll([one()]);
    expect(sent.map(({ name }) => name)).toEqual(['evalsha']);
  });

  test('is not sent again after the deadline', async () => {
    const { sent, takeAll } = setUp(() => forever);
    expect(await takeAll([one()])).toEqual(['timeout']);
    await vi.advanceTimersByTimeAsync(10 * DEADLINE_MS);
    expect(sent).toHaveLength(1);
  });
});

describe('a reply', () => {
  test.each<[what: string, reply: Reply]>([
    ['to another call', (command) => [0, ...admitting(command, NOON_MS).slice(1)]],
    ['with too many numbers', (command) => [...admitting(command, NOON_MS), 1, 1]],
    ['with fewer numbers', (command) => admitting(command, NOON_MS).slice(0, -1)],
    ['that is no list', () => 'OK'],
  ])('%s fails the whole batch and ends the connection', async (_, reply) => {
    const { takeAll, disconnects, errors, batches } = setUp(reply);
    expect(await takeAll([one('a'), one('b')])).toEqual(['malformed', 'malformed']);
    // Reconnects: what else arrives on the old connection may answer other calls.
    expect(disconnects).toEqual([true]);
    expect(errors).toEqual(['malformed']);
    expect(batches).toEqual([]);
  });

  test.each<[what: string, reply: Reply]>([
    ['an answer', admit],
    ['a refusal', () => Promise.reject(new ReplyError('OOM command not allowed'))],
    ['no answer in time', () => forever],
  ])('is nothing to reconnect for: %s', async (_, reply) => {
    const { takeAll, disconnects } = setUp(reply);
    await takeAll([one()]);
    expect(disconnects).toEqual([]);
  });

  test('an error of Redis is reported once per batch, with its reason', async () => {
    const { takeAll, errors } = setUp(() =>
      Promise.reject(new ReplyError('OOM command not allowed')),
    );
    expect(await takeAll([one('a'), one('b')])).toEqual(['oom', 'oom']);
    expect(errors).toEqual(['oom']);
  });
});

describe('a peek', () => {
  const peekReply: Reply = (command) => {
    const { number } = scriptCall(command);
    return [number, NOON_MS, -1 - 2, 700, -1, 800, 300];
  };
  test('runs the script that takes nothing', async () => {
    const { store, sent } = setUp(peekReply);
    expect(await store.peek([...one('a'), ...one('b')])).toEqual({
      states: [
        { limit: 5, remaining: 2, resetAfterMs: 700, retryAfterMs: 0 },
        { limit: 5, remaining: 0, resetAfterMs: 800, retryAfterMs: 300 },
      ],
      nowMs: NOON_MS,
    });
    expect(sent.map(({ name, args }) => [name, args[0]])).toEqual([['eval', PEEK_SCRIPT]]);
    expect(batchesOf(sent)).toEqual([['a', 'b']]);
  });

  test('that fails rejects with a StoreError', async () => {
    const { store } = setUp(() => Promise.reject(new Error('Connection is closed.')));
    await expect(store.peek(one())).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'connection',
    });
  });
});

describe('a reset', () => {
  test('deletes each key, then announces the keys', async () => {
    const { store, sent } = setUp(() => 1);
    await store.reset(['a', 'b']);
    expect(sent).toEqual([
      { name: 'del', args: ['a'] },
      { name: 'del', args: ['b'] },
      { name: 'publish', args: ['hg:v1:reset', '["a","b"]'] },
    ]);
  });

  test('announces nothing that was not deleted', async () => {
    const { store, sent } = setUp(() => Promise.reject(new ReplyError('READONLY replica')));
    await expect(store.reset(['a'])).rejects.toMatchObject({ reason: 'readonly' });
    expect(sent.map(({ name }) => name)).toEqual(['del']);
  });

  test('goes in groups of 500 keys, each announced before the next is deleted', async () => {
    const { store, sent } = setUp(() => 1);
    await store.reset(Array.from({ length: 501 }, (_, n) => `${n}`));
    expect(sent).toHaveLength(503);
    expect(sent[500]?.name).toBe('publish');
    expect(sent[501]).toEqual({ name: 'del', args: ['500'] });
    expect(sent[502]).toEqual({ name: 'publish', args: ['hg:v1:reset', '["500"]'] });
  });
});
