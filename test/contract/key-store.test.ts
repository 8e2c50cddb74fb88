/** Keys in a real Redis, by the shipped account: what every store does, and how gateways follow each other's changes. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { StoreError } from '../../src/gateway/core/counting/store.ts';
import { KeyBook } from '../../src/gateway/keys/key-book.ts';
import type { KeyStore } from '../../src/gateway/keys/key-store.ts';
import { RedisKeyStore } from '../../src/gateway/keys/redis-key-store.ts';
import { atMostEvery, KEYS_CHANNEL, listenTo } from '../../src/gateway/stores/redis/channels.ts';
import { createRedisClient } from '../../src/gateway/stores/redis/client.ts';
import { eventually, waitUntil } from '../support/eventually.ts';
import { changeKeys, digestOf, keyRecord, observedKeyEvents } from '../support/keys.ts';
import {
  connectTo,
  ownRedisIsHere,
  redisIsHere,
  startRedis,
  type TestRedis,
} from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { type Connected, connectStore, type Way } from '../support/stores.ts';
import { describeKeyStore } from './key-store.contract.ts';

const KINDS: readonly (readonly [name: string, kind: Way | 'cluster'])[] = [
  ['a single Redis, over a connection of our own', 'a connection of our own'],
  ['a single Redis, over ioredis', 'ioredis'],
  ['a cluster', 'cluster'],
];

/** Long enough for a busy machine: no test is about it. */
const DEADLINE_MS = 10_000;

describe.each(KINDS)('keys in %s', (_, kind) => {
  const isHere = kind === 'cluster' ? ownRedisIsHere : redisIsHere;
  describe.skipIf(!isHere)('', () => {
    let started: AsyncDisposableStack;
    let url: string;
    let nodes: Redis[];
    let connected: Connected;

    beforeAll(async () => {
      started = new AsyncDisposableStack();
      const servers: TestRedis[] = [];
      if (kind === 'cluster') {
        const cluster = started.use(await startRedisCluster());
        servers.push(...(cluster.nodes as readonly TestRedis[]));
        url = byShippedAccount(cluster.url);
      } else {
        const redis = started.use(await startRedis());
        servers.push(redis);
        url = byShippedAccount(redis.url);
      }
      nodes = servers.map((server) =>
        started.adopt(connectTo(server), (node) => node.disconnect()),
      );
      await Promise.all(servers.map(addShippedAccount));
      connected = started.adopt(
        await connectStore(url, { way: kind === 'cluster' ? 'ioredis' : kind }),
        (open) => open.disconnect(),
      );
      // The client of a cluster connects to each node when it first needs it.
      const digests = Array.from({ length: 100 }, (_, i) => digestOf(`${i}`));
      const find = () => openStore().find(digests);
      await waitUntil('all nodes answer', () =>
        find().then(
          () => true,
          () => false,
        ),
      );
    });
    afterAll(() => started?.disposeAsync());

    const flush = () => Promise.all(nodes.map((node) => node.flushall()));
    beforeEach(async () => void (await flush()));

    const openStore = (events = observedKeyEvents()) => new RedisKeyStore({ ...connected, events });

    describeKeyStore(async () => {
      await flush();
      return openStore();
    }, 30);

    /** Reads and writes as an administrator: the shipped account may not. */
    async function command(...words: [string, ...(string | number)[]]): Promise<unknown> {
      for (const node of nodes) {
        try {
          return await node.call(...words);
        } catch (error) {
          if (!String(error).includes('MOVED')) throw error;
        }
      }
      throw new Error('no node has the key');
    }

    describe('changes', () => {
      test('are told by the version since which they are asked for', async () => {
        const store = openStore();
        const first = await store.changesSince(undefined);
        expect(first.digests).toBeUndefined();
        expect(await store.changesSince(first.version)).toEqual({ ...first, digests: [] });
        await store.put([keyRecord('acme'), keyRecord('beta')]);
        await store.replace([keyRecord('gamma')]);
        await store.remove([keyRecord('delta')]);
        const second = await store.changesSince(first.version);
        expect(second.digests).toEqual(['acme', 'beta', 'gamma', 'delta'].map(digestOf));
        expect(await store.changesSince(second.version)).toEqual({ ...second, digests: [] });
      });

      test('are told in full if they take several calls', async () => {
        const store = openStore();
        await store.put([keyRecord('acme')]);
        const { version } = await store.changesSince(undefined);
        const keys = Array.from({ length: 450 }, (_, i) => keyRecord(`${i}`));
        for (const key of keys) await store.replace([key]);
        const changed = await store.changesSince(version);
        expect(changed.digests).toEqual(keys.map(({ digest }) => digest));
        expect(await store.changesSince(changed.version)).toEqual({ ...changed, digests: [] });
      });

      test('are any if the list has moved on, or was lost', async () => {
        const store = openStore();
        await store.put([keyRecord('acme')]);
        const { version } = await store.changesSince(undefined);
        await store.put([keyRecord('beta')]);
        await command('xtrim', 'hg:v1:keys:changes', 'maxlen', 1);
        const moved = await store.changesSince(version);
        expect(moved.digests).toBeUndefined();
        await flush();
        const lost = await store.changesSince(moved.version);
        expect(lost.digests).toBeUndefined();
        expect(await store.changesSince(lost.version)).toEqual({ ...lost, digests: [] });
        // The ids of entries are moments, so one could come again.
        const [id = '', name = ''] = moved.version?.split(' ') ?? [];
        await flush();
        await command('xadd', 'hg:v1:keys:changes', id, `another ${name}`, '');
        await store.put([keyRecord('gamma')]);
        expect((await store.changesSince(moved.version)).digests).toBeUndefined();
      });

      test('that no gateway writes are passed over', async () => {
        const store = openStore();
        await store.put([keyRecord('acme')]);
        const { version } = await store.changesSince(undefined);
        const add = (...fields: string[]) =>
          command('xadd', 'hg:v1:keys:changes', '*', ...(fields as [string]));
        await add('digests', 'x'.repeat(20_000_000));
        await add('another', 'field');
        await add('digests', `short ${digestOf('beta')} \0`);
        const changed = await store.changesSince(version);
        expect(changed.digests).toEqual([digestOf('beta')]);
      });
    });

    test('a record that no gateway writes is no key, is reported, and breaks no connection', async () => {
      const events = observedKeyEvents();
      const store = openStore(events);
      const kept = { huge: 'x'.repeat(20_000_000), foreign: 'foreign' };
      for (const [key, text] of Object.entries(kept))
        await command('set', `hg:v1:key:${digestOf(key)}`, text);
      await command('lpush', `hg:v1:key:${digestOf('list')}`, 'x');
      await store.put([keyRecord('acme')]);
      const digests = ['huge', 'foreign', 'list', 'acme'].map(digestOf);
      expect(await store.find(digests)).toEqual([
        undefined,
        undefined,
        undefined,
        keyRecord('acme'),
      ]);
      expect(events.recordUnreadable.mock.calls.flat().sort()).toEqual(
        ['huge', 'foreign'].map(digestOf).sort(),
      );
      // Putting the key repairs it.
      const repaired = ['huge', 'foreign', 'list'].map((id) => keyRecord(id));
      await store.put(repaired);
      expect(await store.find(digests.slice(0, 3))).toEqual(repaired);
    });

    const bookOn = (store: KeyStore, events = observedKeyEvents()) =>
      new KeyBook({ store, deadlineMs: DEADLINE_MS, events, now: () => 0 });

    /** A gateway with its connection for messages. */
    async function openBook() {
      const events = observedKeyEvents();
      const book = bookOn(openStore(events), events);
      const { promise, resolve } = Promise.withResolvers<void>();
      const subscriber = started.adopt(
        createRedisClient({ target: parseRedisUrl(url), deadlineMs: 5_000, onError: () => {} }),
        (client) => client.disconnect(),
      );
      const refresh = atMostEvery(1, () => void book.refresh().catch(() => {}));
      listenTo([KEYS_CHANNEL], subscriber, {
        onListening: () => resolve(),
        onMessage: refresh,
        onDeaf() {},
      });
      await promise;
      await book.refresh();
      const planOf = async (key: string) => {
        await book.lookUp([digestOf(key)], () => 'i.address');
        return book.find(digestOf(key))?.plan;
      };
      return { book, events, planOf, deafen: () => subscriber.disconnect() };
    }

    describe('two gateways', () => {
      test('follow what the other one changes: a key that was unknown, its plan, its end', async () => {
        const [own, other] = await Promise.all([openBook(), openBook()]);
        expect(await other.planOf('acme')).toBeUndefined();
        await own.book.put([keyRecord('acme')]);
        await eventually(
          () => other.planOf('acme'),
          (plan) => plan === 'free',
        );
        expect(await own.planOf('acme')).toBe('free');
        const changed = await changeKeys(own.book, 'acme', { plan: 'pro', isBlocked: true });
        expect(changed).toEqual([keyRecord('acme', { plan: 'pro', isBlocked: true })]);
        // The gateway that made the change has it at once.
        expect(await own.planOf('acme')).toBe('pro');
        await eventually(
          () => other.planOf('acme'),
          (plan) => plan === 'pro',
        );
        expect(other.book.find(digestOf('acme'))?.isBlocked).toBe(true);
        expect(await own.book.remove(await own.book.ofId('acme'))).toBe(1);
        await eventually(
          async () =>
            (await other.planOf('acme')) === undefined ||
            other.book.find(digestOf('acme'))?.endsMs === 0,
          Boolean,
        );
        expect([own, other].map(({ events }) => events.changesMissed.mock.calls)).toEqual([[], []]);
      });

      test('one that heard no message has the changes at its next read', async () => {
        const [own, other] = await Promise.all([openBook(), openBook()]);
        await own.book.put([keyRecord('acme')]);
        await eventually(
          () => other.planOf('acme'),
          (plan) => plan === 'free',
        );
        other.deafen();
        await changeKeys(own.book, 'acme', { plan: 'pro' });
        await other.book.refresh();
        expect(await other.planOf('acme')).toBe('pro');
        expect(other.events.changesMissed).not.toHaveBeenCalled();
      });

      test('one that fell behind, or whose Redis lost everything, looks up all keys again', async () => {
        const [own, other] = await Promise.all([openBook(), openBook()]);
        other.deafen();
        await own.book.put([keyRecord('acme')]);
        await other.book.refresh();
        expect(await other.planOf('acme')).toBe('free');
        await changeKeys(own.book, 'acme', { plan: 'pro' });
        await command('xtrim', 'hg:v1:keys:changes', 'maxlen', 0);
        await other.book.refresh();
        expect(await other.planOf('acme')).toBe('pro');
        await flush();
        await own.book.put([keyRecord('beta')]);
        await other.book.refresh();
        expect(await other.planOf('acme')).toBeUndefined();
        expect(other.events.changesMissed.mock.calls.length).toBeGreaterThan(0);
      });

      test('a gateway that looks keys up while they change has the last plan in the end', async () => {
        const [own, other] = await Promise.all([openBook(), openBook()]);
        const ids = ['a', 'b', 'c', 'd'];
        await own.book.put(ids.map((id) => keyRecord(id, { plan: '0' })));
        let isOver = false;
        const asking = ids.map(async (id) => {
          while (!isOver) {
            await other.planOf(id);
            await new Promise((resolve) => setImmediate(resolve));
          }
        });
        for (let i = 1; i <= 30; i++) {
          await Promise.all(ids.map((id) => changeKeys(own.book, id, { plan: `${i}` })));
        }
        const plans = () => Promise.all(ids.map((id) => other.planOf(id)));
        await eventually(plans, (all) => all.every((plan) => plan === '30'));
        isOver = true;
        await Promise.all(asking);
      });
    });

    describe('a change that stopped halfway', () => {
      /** Fails at the command with this number, as a Redis that goes away. */
      function stoppingStore(after: number) {
        let left = after;
        const { client } = connected;
        const stopping = new Proxy(client, {
          get(target, name) {
            if (name === 'call') {
              return (...words: [string, ...string[]]) =>
                left-- > 0
                  ? target.call(...words)
                  : Promise.reject(new StoreError('connection', 'stopped'));
            }
            return Reflect.get(target, name);
          },
        });
        const { connection } = connected;
        return new RedisKeyStore({ client: stopping, connection, events: observedKeyEvents() });
      }

      const attempts = async (act: (book: KeyBook) => Promise<unknown>) => {
        const results: unknown[] = [];
        for (let after = 0; ; after++) {
          const book = bookOn(stoppingStore(after));
          try {
            await act(book);
            return results;
          } catch (error) {
            results.push(error);
          }
        }
      };

      /** Every gateway has it at its next read, and the index is whole. */
      async function expectWhole(reader: Awaited<ReturnType<typeof openBook>>, plans: unknown[]) {
        await reader.book.refresh();
        const keys = ['acme', 'second'];
        const found = [];
        for (const key of keys) found.push(await reader.planOf(key));
        expect(found).toEqual(plans);
        const { keys: listed } = await reader.book.list(undefined, 10);
        expect(listed.map(({ plan }) => plan).sort()).toEqual(plans.filter(Boolean));
      }

      test('is finished by repeating it, whichever step failed', async () => {
        const reader = await openBook();
        reader.deafen();
        const two = [keyRecord('acme'), keyRecord('acme', { key: 'second' })];
        await reader.planOf('acme');
        const failures = [
          await attempts((book) => book.put(two)),
          await expectWhole(reader, ['free', 'free']),
          await attempts((book) => changeKeys(book, 'acme', { plan: 'pro' })),
          await expectWhole(reader, ['pro', 'pro']),
          await attempts((book) => book.remove(two)),
          await expectWhole(reader, [undefined, undefined]),
        ].filter((each) => each !== undefined);
        for (const each of failures.flat()) expect(each).toBeInstanceOf(StoreError);
        expect(failures.map((each) => each?.length ?? 0).every((count) => count >= 3)).toBe(true);
        expect(await command('zcard', 'hg:v1:keys')).toBe(0);
      });

      test('leaves a key that was to be removed findable until it is unlisted everywhere', async () => {
        const reader = await openBook();
        reader.deafen();
        const acme = keyRecord('acme');
        for (let after = 0; ; after++) {
          await reader.book.put([acme]);
          await reader.book.refresh();
          expect(await reader.planOf('acme')).toBe('free');
          const isRemoved = await stoppingStore(after)
            .remove([acme])
            .then(
              () => true,
              () => false,
            );
          await reader.book.refresh();
          await reader.planOf('acme');
          const isUnlisted = (reader.book.find(acme.digest)?.endsMs ?? 0) === 0;
          const isFindable = (await reader.book.ofDigests([acme.digest]))[0] !== undefined;
          expect([isUnlisted || isFindable, isUnlisted || !isRemoved]).toEqual([true, true]);
          if (isRemoved) break;
        }
      });

      test('a key that was added is never in force without being listed', async () => {
        const reader = await openBook();
        reader.deafen();
        const acme = keyRecord('acme');
        for (let after = 0; ; after++) {
          const isAdded = await stoppingStore(after)
            .put([acme])
            .then(
              () => true,
              () => false,
            );
          await reader.book.announce([acme]);
          const isInForce = (await reader.planOf('acme')) !== undefined;
          expect((await reader.book.ofId('acme')).length).toBe(Number(isInForce));
          if (isAdded) break;
          await reader.book.remove([acme]);
        }
      });
    });

    test('a page of keys ends where the next begins, and passes over keys without a record', async () => {
      const { book } = await openBook();
      const records = Array.from({ length: 25 }, (_, i) => keyRecord(`client ${10 + i}`));
      await book.put(records);
      await command('del', `hg:v1:key:${records[3]?.digest}`);
      const listed = [];
      let next: string | undefined;
      do {
        const page = await book.list(next, 5);
        listed.push(page.keys.map(({ id }) => id));
        next = page.next;
      } while (next !== undefined);
      expect(listed.map(({ length }) => length)).toEqual([4, 5, 5, 5, 5]);
      expect(listed.flat()).toEqual(records.filter((_, i) => i !== 3).map(({ id }) => id));
      expect(await book.ofId('client 13')).toEqual([]);
      expect(await book.ofId('client 14')).toEqual([records[4]]);
    });

    test('keys beyond those of a step are put, changed and removed as well', async () => {
      const { book } = await openBook();
      const records = Array.from({ length: 250 }, (_, i) => keyRecord('acme', { key: `${i}` }));
      await book.put(records);
      expect(await book.ofId('acme')).toHaveLength(250);
      const changed = await changeKeys(book, 'acme', { plan: undefined, comment: 'old' });
      expect(changed).toHaveLength(250);
      expect(await book.ofId('acme')).toEqual(changed);
      expect(await book.remove(changed)).toBe(250);
      expect(await book.list(undefined, 10)).toEqual({ keys: [], next: undefined });
    });

    test('while Redis is not connected, changes are refused, and keys that are not known are unlisted', async () => {
      const { client, connection, disconnect } = await connectStore(url);
      const store = new RedisKeyStore({ client, connection, events: observedKeyEvents() });
      const book = bookOn(store);
      await book.put([keyRecord('acme'), keyRecord('beta')]);
      await book.lookUp([digestOf('acme')], () => 'i.address');
      disconnect();
      await waitUntil('it is closed', async () => client.status !== 'ready');
      await expect(book.put([keyRecord('acme')])).rejects.toThrow(StoreError);
      await expect(book.ofId('acme')).rejects.toThrow(StoreError);
      await expect(book.refresh()).rejects.toThrow(StoreError);
      await book.lookUp([digestOf('beta')], () => 'i.address');
      expect(book.find(digestOf('beta'))).toBeUndefined();
      // What was known stays known.
      expect(book.find(digestOf('acme'))?.plan).toBe('free');
    });
  });
});
