/** What a gateway reads from Redis for operators: windows, versions and memory. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  redisStats,
  redisVersion,
  watchMemory,
  windowSampling,
} from '../../../../../src/gateway/app/redis/usage.ts';
import { KEY_PREFIX } from '../../../../../src/gateway/core/counting/descriptor.ts';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';
import type { RedisClient } from '../../../../../src/gateway/stores/redis/client.ts';

type Info = Readonly<Record<string, string | number>>;

let info: () => Info | Promise<Info>;
let infos: number;
let keys: readonly string[];

const client = {
  async info() {
    infos++;
    const fields = Object.entries(await info());
    return fields.map(([name, value]) => `${name}:${value}\r\n`).join('');
  },
  dbsize: async () => keys.length,
  scan: async () => ['0', keys],
  memory: async () => 100,
} as unknown as RedisClient;

const answers = (fields: Info) => {
  info = () => fields;
};
const NEVER = () => new Promise<Info>(() => {});

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

beforeEach(() => {
  infos = 0;
  keys = [];
  answers({});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => void vi.useRealTimers());

describe('windows', () => {
  test('are counted on demand, and every ten seconds until the end', async () => {
    const counted: number[] = [];
    const sampling = windowSampling(client, (windows) => counted.push(windows));
    keys = [`${KEY_PREFIX}a`, 'other', `${KEY_PREFIX}b`];
    await sampling.sample();
    expect(counted).toEqual([2]);
    vi.advanceTimersByTime(9_999);
    await settle();
    expect(counted).toEqual([2]);
    keys = [`${KEY_PREFIX}a`];
    vi.advanceTimersByTime(1);
    await settle();
    expect(counted).toEqual([2, 1]);
    sampling.close();
    vi.advanceTimersByTime(60_000);
    await settle();
    expect(counted).toEqual([2, 1]);
  });
});

describe('statistics', () => {
  test('have the keys with their memory, and the servers', async () => {
    keys = [`${KEY_PREFIX}a`, 'other'];
    answers({ redis_version: '7.0.15', used_memory: 5, connected_clients: 3 });
    expect(await redisStats(client)).toEqual({
      store: 'redis',
      keyspace: { activeWindows: 1, sampledKeys: 2, isExact: true, memoryBytes: 100 },
      servers: [
        {
          ...{ version: '7.0.15', usedMemoryBytes: 5, connectedClients: 3 },
          ...{ maxMemoryBytes: 0, maxMemoryPolicy: 'unknown', evictedKeys: 0 },
        },
      ],
    });
  });

  test('of a server that fails, or does not answer within two seconds, are an error of the store', async () => {
    info = () => {
      throw new Error('broken');
    };
    await expect(redisStats(client)).rejects.toBeInstanceOf(StoreError);
    info = NEVER;
    const failure = redisStats(client).catch((error: StoreError) => error.reason);
    let reason: unknown;
    void failure.then((found) => {
      reason = found;
    });
    vi.advanceTimersByTime(1_999);
    await settle();
    expect(reason).toBeUndefined();
    vi.advanceTimersByTime(1);
    await settle();
    expect(reason).toBe('timeout');
  });
});

describe('the version', () => {
  test('is read again after a minute', async () => {
    let nowMs = 0;
    const version = redisVersion(client, () => nowMs);
    answers({ redis_version: '7.0.15' });
    expect(await version()).toBe('7.0.15');
    answers({ redis_version: '7.2.0', valkey_version: '8.1.0' });
    nowMs = 59_999;
    expect([await version(), infos]).toEqual(['7.0.15', 1]);
    nowMs = 60_000;
    expect([await version(), infos]).toEqual(['8.1.0', 2]);
    nowMs = 119_999;
    expect([await version(), infos]).toEqual(['8.1.0', 2]);
  });

  test('is unknown while there is no answer within half a second, and is asked for again', async () => {
    const version = redisVersion(client, () => 0);
    info = NEVER;
    let found: unknown = 'none yet';
    void version().then((text) => {
      found = text;
    });
    vi.advanceTimersByTime(499);
    await settle();
    expect(found).toBe('none yet');
    vi.advanceTimersByTime(1);
    await settle();
    expect(found).toBeUndefined();
    answers({ redis_version: '7.0.15' });
    expect(await version()).toBe('7.0.15');
  });
});

describe('memory', () => {
  let events: string[];
  const setUp = () => {
    events = [];
    return watchMemory(client, {
      memoryUsed: (share) => events.push(`used ${share}`),
      keysEvicted: (count) => events.push(`evicted ${count}`),
      memoryNearlyFull: (share, mayEvict) => events.push(`nearly full ${share} ${mayEvict}`),
    });
  };
  const memory = (used: number, max: number, policy = 'noeviction', evicted = 0) =>
    answers({
      ...{ used_memory: used, maxmemory: max, maxmemory_policy: policy, evicted_keys: evicted },
    });

  test.each<[number, number, string[]]>([
    [899, 1_000, ['used 0.899']],
    [900, 1_000, ['used 0.9', 'nearly full 0.9 false']],
    [1_000, 1_000, ['used 1', 'nearly full 1 false']],
    [1_000, 0, ['used 0']],
    [0, 1_000, ['used 0']],
  ])('%i of %i bytes', async (used, max, expected) => {
    memory(used, max);
    const watch = setUp();
    await watch.sample();
    watch.close();
    expect(events).toEqual(expected);
  });

  test.each<[number, string, boolean]>([
    [1_000, 'allkeys-lru', true],
    [1_000, 'volatile-ttl', true],
    [1_000, 'noeviction', false],
    [1_000, 'unknown', false],
    [0, 'allkeys-lru', false],
  ])('with maxmemory %i and %s may evict keys: %s', async (max, policy, expected) => {
    memory(950, max, policy);
    const watch = setUp();
    expect(watch.mayEvict()).toBe(false);
    await watch.sample();
    watch.close();
    expect(watch.mayEvict()).toBe(expected);
    expect(events.slice(1)).toEqual(max === 0 ? [] : [`nearly full 0.95 ${expected}`]);
  });

  test('that evicts keys is reported by how many since the last look', async () => {
    const watch = setUp();
    const evictions = async (evicted: number) => {
      events = [];
      memory(0, 0, 'noeviction', evicted);
      await watch.sample();
      return events.slice(1);
    };
    // What was evicted before the start is not news.
    expect(await evictions(100)).toEqual([]);
    expect(await evictions(100)).toEqual([]);
    expect(await evictions(101)).toEqual(['evicted 1']);
    expect(await evictions(121)).toEqual(['evicted 20']);
    // The server was restarted.
    expect(await evictions(0)).toEqual([]);
    expect(await evictions(2)).toEqual(['evicted 2']);
    watch.close();
  });

  test('that cannot be read is not reported', async () => {
    info = () => {
      throw new Error('NOPERM');
    };
    const watch = setUp();
    await watch.sample();
    watch.close();
    expect(events).toEqual([]);
  });
});
