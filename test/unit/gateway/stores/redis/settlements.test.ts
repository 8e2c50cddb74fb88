import { ReplyError } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Settlement } from '../../../../../src/gateway/core/counting/settlement.ts';
import type { StoreErrorReason } from '../../../../../src/gateway/core/counting/store.ts';
import { ClusterStore } from '../../../../../src/gateway/stores/redis/cluster-store.ts';
import { overIoredis } from '../../../../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../../../../src/gateway/stores/redis/redis-store.ts';
import { SETTLE_SCRIPT } from '../../../../../src/gateway/stores/redis/settle-script.ts';
import { descriptorOf, quotaOf } from '../../../../support/quotas.ts';
import { NOON_MS } from '../../../../support/requests.ts';
import {
  admitting,
  type Reply,
  type SentCommand,
  scriptCall,
  scriptedClient,
} from '../../../../support/scripted-redis-client.ts';

const DEADLINE_MS = 50;
const QUOTA = quotaOf({ limit: 5, windowMs: 60_000, algorithm: 'fixed-window' });

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance'] }));
afterEach(() => vi.useRealTimers());

function settlement(id: string, keys: readonly string[], used = 0): Settlement {
  const parts = keys.map((key) => ({ key, quota: QUOTA, momentMs: NOON_MS, reserved: 3, used }));
  return { id, endsMs: NOON_MS + 900_000, parts };
}

/** What settle.lua returns if each part has this result. The keys of marks have no result. */
const settling = (command: SentCommand, result = 0) => [
  scriptCall(command).number,
  NOON_MS,
  ...scriptCall(command)
    .keys.filter((key) => !key.includes(':settled:'))
    .map(() => result),
];

function setUp(reply: Reply, maxInFlight = 100) {
  const { client, sent, disconnects } = scriptedClient(reply);
  const errors: [StoreErrorReason, number][] = [];
  const batches: number[] = [];
  const unsettled: Settlement[] = [];
  const options = {
    connection: overIoredis(client),
    inFlight: createInFlight(maxInFlight),
    settlementsInFlight: createInFlight(maxInFlight),
    deadlineMs: DEADLINE_MS,
    onBatch: (_durationMs: number, requests: number) => batches.push(requests),
    onError: (reason: StoreErrorReason, _cause: unknown, requests: number) =>
      errors.push([reason, requests]),
    onUnsettled: (each: Settlement) => unsettled.push(each),
  };
  const ended = async <T>(results: readonly Promise<T>[]) => {
    const all = Promise.allSettled(results);
    await vi.advanceTimersByTimeAsync(4 * DEADLINE_MS);
    return (await all).map((each) =>
      each.status === 'fulfilled' ? each.value : (each.reason as { reason: string }).reason,
    );
  };
  const stores = { redis: new RedisStore(options), cluster: new ClusterStore(options) };
  return { ...stores, sent, disconnects, errors, batches, unsettled, ended };
}

const settled = (...states: string[]) => ({ parts: states.map((state) => ({ state, cut: 0 })) });

describe('settlements in Redis', () => {
  test('of a turn share a call and its rows, and each has a mark beside its first key', async () => {
    const { redis, sent, batches, errors, ended } = setUp(settling);
    const all = [settlement('x1', ['h:{a}:1', 'h:{b}:1']), settlement('x2', ['h:{a}:1'], 4)];
    expect(await ended(all.map((each) => redis.settle(each)))).toEqual([
      settled('settled', 'settled'),
      settled('settled'),
    ]);
    expect(sent).toHaveLength(1);
    const { keys, values } = scriptCall(sent[0] as SentCommand);
    expect(keys).toEqual(['h:{a}:settled:x1', 'h:{a}:1', 'h:{b}:1', 'h:{a}:settled:x2', 'h:{a}:1']);
    const [ends, part] = [NOON_MS + 900_000, `${NOON_MS},3`];
    expect(values[2]).toBe(`     \`   \`[${ends},${part},0,${part},0,${ends},${part},4]`);
    expect(values.slice(3)).toEqual(['fixed', 5, 60_000, 5, 0, 0]);
    // They are no requests.
    expect([batches, errors]).toEqual([[0], []]);
  });

  test('have at most 128 keys in a call', async () => {
    const { redis, sent, ended } = setUp(settling);
    await ended(Array.from({ length: 65 }, (_, i) => redis.settle(settlement(`${i}`, ['{a}']))));
    expect(sent.map((each) => scriptCall(each).keys.length)).toEqual([128, 2]);
  });

  test('are sent again to a server that does not know the script', async () => {
    const { redis, sent, ended } = setUp((command) => {
      if (command.name === 'evalsha') throw new ReplyError('NOSCRIPT No matching script.');
      return settling(command);
    });
    expect(await ended([redis.settle(settlement('x', ['{a}']))])).toEqual([settled('settled')]);
    expect(sent.map(({ name }) => name)).toEqual(['evalsha', 'eval']);
    expect(scriptCall(sent[1] as SentCommand).script).toBe(SETTLE_SCRIPT);
  });

  test.each([
    ['READONLY You can not write against a read only replica.', 'readonly'],
    ['OOM command not allowed when used memory > maxmemory.', 'oom'],
  ])('fail as takes do: %s', async (message, reason) => {
    const { redis, errors, ended } = setUp(() => {
      throw new ReplyError(message);
    });
    expect(await ended([redis.settle(settlement('x', ['{a}']))])).toEqual([reason]);
    expect(errors).toEqual([[reason, 0]]);
  });

  test('have the deadline of takes', async () => {
    const { redis, ended } = setUp(() => new Promise(() => {}));
    expect(await ended([redis.settle(settlement('x', ['{a}']))])).toEqual(['timeout']);
  });

  test('leave the places of requests alone', async () => {
    const { redis, ended } = setUp(
      (command) =>
        scriptCall(command).keys.includes('take') ? admitting(command, NOON_MS) : settling(command),
      2,
    );
    const all = Array.from({ length: 3 }, (_, i) => redis.settle(settlement(`${i}`, ['{a}'])));
    const takes = [1, 2].map(() =>
      redis.take([descriptorOf('take', { limit: 5, windowMs: 60_000 })]),
    );
    expect(await ended<unknown>([...all, ...takes])).toMatchObject([
      {},
      {},
      'overloaded',
      { admitted: true },
      { admitted: true },
    ]);
  });

  const MALFORMED: readonly [what: string, of: (own: readonly number[]) => unknown][] = [
    ['no list', () => 'OK'],
    ['a number that is not whole', ([call, now]) => [call, now, 0.5]],
    ['the reply to another call', ([call = 0, now]) => [call + 1, now, 0]],
    ['no moment', ([call]) => [call, 5, 0]],
    ['a number too few', ([call, now]) => [call, now]],
    ['a number too many', ([call, now]) => [call, now, 0, 0]],
    ['a result that no script has', ([call, now]) => [call, now, -5]],
    ['more left out than there was', ([call, now]) => [call, now, 1]],
  ];
  test.each(MALFORMED)('refuse a malformed reply: %s', async (_, of) => {
    const { redis, disconnects, ended } = setUp((command) => of(settling(command)));
    expect(await ended([redis.settle(settlement('x', ['{a}']))])).toEqual(['malformed']);
    expect(disconnects).toEqual([true]);
  });

  test('have each result that the script can return', async () => {
    const { redis, ended } = setUp((command) => [
      ...settling(command).slice(0, 2),
      ...[7, -1, -2, -3, -4],
    ]);
    const parts = settlement('x', ['{a}1', '{a}2', '{a}3', '{a}4', '{a}5'], 10);
    expect(await ended([redis.settle(parts)])).toEqual([
      {
        parts: [
          { state: 'settled', cut: 7 },
          ...settled('gone', 'reset', 'repeated', 'ended').parts,
        ],
      },
    ]);
  });

  test.each([1.5, -1, Number.NaN, 2 ** 60])('refuse to send %d', async (used) => {
    const { redis, sent, ended } = setUp(settling);
    expect(await ended([redis.settle(settlement('x', ['{a}'], used))])).toEqual(['other']);
    expect(sent).toEqual([]);
  });
});

describe('settlements in a cluster', () => {
  test('have a call and a mark in each slot', async () => {
    const { cluster, sent, ended } = setUp((command) =>
      settling(command, scriptCall(command).keys.includes('{a}1') ? 0 : -1),
    );
    const parts = settlement('x', ['{a}1', '{b}1', '{a}2']);
    expect(await ended([cluster.settle(parts)])).toEqual([settled('settled', 'gone', 'settled')]);
    expect(sent.map((each) => scriptCall(each).keys)).toEqual([
      ['{a}:settled:x', '{a}1', '{a}2'],
      ['{b}:settled:x', '{b}1'],
    ]);
  });

  test('fail if one slot does, after all of them have ended', async () => {
    let hasSettled = false;
    const { cluster, ended } = setUp(async (command) => {
      if (scriptCall(command).keys.includes('{a}1')) throw new Error('Connection is closed.');
      await new Promise((resolve) => setTimeout(resolve, DEADLINE_MS / 2));
      hasSettled = true;
      return settling(command);
    });
    const parts = settlement('x', ['{a}1', '{b}1']);
    expect(await ended([cluster.settle(parts)])).toEqual(['connection']);
    expect(hasSettled).toBe(true);
  });

  describe('of what a request took before a later slot denied it', () => {
    const narrow = { ...descriptorOf('{b}1', { ...QUOTA, limit: 2 }), givesBack: true as const };
    const [kept, wide] = [
      descriptorOf('{b}2', QUOTA),
      descriptorOf('{a}1', { ...QUOTA, limit: 9 }),
    ];
    const denyingWide = (settle: Reply): Reply => {
      return (command) => {
        const { keys, number } = scriptCall(command);
        if (keys.some((key) => key.includes(':settled:'))) return settle(command);
        return keys.includes('{a}1')
          ? [number, NOON_MS, -1, 500, 400]
          : admitting(command, NOON_MS);
      };
    };

    test('give it back, if the limit charges afterwards', async () => {
      const { cluster, sent, unsettled, ended } = setUp(denyingWide(settling));
      const [result] = await ended([cluster.take([narrow, wide])]);
      expect(result).toMatchObject({ admitted: false });
      expect(result).not.toHaveProperty('states.0.taken');
      const [mark, key] = scriptCall(sent.at(-1) as SentCommand).keys;
      expect(key).toBe('{b}1');
      expect(mark).toMatch(/^\{b\}:settled:[0-9a-f-]{36}$/);
      expect(scriptCall(sent.at(-1) as SentCommand).values[2]).toMatch(
        new RegExp(`\\[${NOON_MS + 86_400_000},${NOON_MS},1,0\\]$`),
      );
      expect(unsettled).toEqual([]);
    });

    test('leave limits alone that charge nothing afterwards, and requests that are admitted', async () => {
      const { cluster, sent, ended } = setUp(denyingWide(settling));
      await ended([cluster.take([kept, wide]), cluster.take([narrow, kept])]);
      expect(sent.flatMap((each) => scriptCall(each).keys).join()).not.toContain(':settled:');
    });

    test('are passed on if they fail, to be sent again with the same mark', async () => {
      const { cluster, sent, unsettled, ended } = setUp(
        denyingWide(() => Promise.reject(new Error('Connection is closed.'))),
      );
      await ended([cluster.take([narrow, wide])]);
      expect(unsettled).toMatchObject([{ parts: [{ key: '{b}1', reserved: 1, used: 0 }] }]);
      const [mark] = scriptCall(sent.at(-1) as SentCommand).keys;
      expect(mark).toBe(`{b}:settled:${unsettled[0]?.id}`);
    });
  });
});
