/** What the connection must do over which takes go, whichever client has it, on a server that does what a test says. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { StoreError, type StoreErrorReason } from '../../src/gateway/core/counting/store.ts';
import { createRedisClient } from '../../src/gateway/stores/redis/client.ts';
import { overIoredis } from '../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
import { RespClient } from '../../src/gateway/stores/redis/resp/resp-client.ts';
import { waitUntil } from '../support/eventually.ts';
import { bulk, type FakeRedis, type Question, startFakeRedis } from '../support/fake-redis.ts';
import { descriptorOf } from '../support/quotas.ts';
import type { Way } from '../support/stores.ts';

const LIMIT = 1_000;
const one = (key = 'hg:v1:{a}:a') => [descriptorOf(key, { limit: LIMIT, windowMs: 60_000 })];

const REFUSALS: readonly (readonly [line: string, reason: StoreErrorReason])[] = [
  ['OOM command not allowed', 'oom'],
  ['MISCONF Redis is configured to save RDB snapshots', 'misconf'],
  ['BUSY Redis is busy running a script.', 'busy'],
  ['LOADING Redis is loading the dataset in memory', 'loading'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'noperm'],
  ['NOAUTH Authentication required.', 'noperm'],
  ['WRONGTYPE Operation against a key', 'wrongtype'],
  ['ERR something new', 'other'],
];

const MALFORMED: readonly (readonly [what: string, bytes: string])[] = [
  ['no RESP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['a list of 99,999,999,999', '*99999999999\r\n'],
  ['a string of 64 MiB', '$67108864\r\n'],
  ['a list of strings', `*3\r\n${bulk('1')}${bulk('2')}${bulk('3')}`],
  ['a text', '+OK\r\n'],
  ['an integer that is too long', `*1\r\n:${'9'.repeat(20_000)}\r\n`],
];

export function describeCountingConnection(way: Way): void {
  describe(`over ${way}`, () => {
    let fake: FakeRedis;
    let asked: Question[];
    let opened: AsyncDisposableStack;

    beforeEach(async () => {
      opened = new AsyncDisposableStack();
      fake = opened.use(await startFakeRedis());
      asked = [];
    });
    afterEach(() => opened.disposeAsync());

    const answers = (fault: (question: Question) => boolean = () => false) =>
      fake.misbehave((question) => {
        asked.push(question);
        return fault(question);
      });
    const named = (name: string) => asked.filter((each) => each.name === name);

    async function open({ deadlineMs = 5_000, url = fake.url } = {}) {
      const errors: Error[] = [];
      const onError = (error: Error) => void errors.push(error);
      const options = { target: parseRedisUrl(url), deadlineMs, onError };
      const connection =
        way === 'ioredis' ? overIoredis(createRedisClient(options)) : new RespClient(options);
      opened.defer(() => connection.disconnect());
      const store = new RedisStore({ connection, inFlight: createInFlight(5_000), deadlineMs });
      /** What remains, or why the take failed. */
      const take = (key?: string) =>
        store.take(one(key)).then(
          ({ states }) => states[0]?.remaining,
          (error: unknown) => (error instanceof StoreError ? error.reason : error),
        );
      const ready = () => waitUntil('ready', async () => connection.status === 'ready');
      const counts = () => waitUntil('it counts', async () => (await take()) === LIMIT - 1);
      return { connection, errors, ready, take, counts };
    }

    async function openReady(options?: { readonly deadlineMs?: number; readonly url?: string }) {
      const made = await open(options);
      await made.ready();
      return made;
    }

    test('takes are answered in their order, many on the way at once', async () => {
      const { take } = await openReady();
      const ends = [];
      for (let turn = 0; turn < 20; turn++) {
        ends.push(take(`hg:v1:{a}:${turn}`));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await Promise.all(ends)).toEqual(Array(20).fill(LIMIT - 1));
    });

    test.each(['a', 'é', '€', '😀', '\u0000\r\n', 'ÿ'.repeat(300)])(
      'a key is sent as UTF-8: %j',
      async (name) => {
        answers();
        const { take } = await openReady();
        expect(await take(`hg:v1:{a}:${name}`)).toBe(LIMIT - 1);
        const [, , , key = ''] = named('take')[0]?.words ?? [];
        expect(Buffer.from(key, 'latin1').toString()).toBe(`hg:v1:{a}:${name}`);
      },
    );

    test('a script that the server does not know is sent in full, once', async () => {
      answers(({ words, socket }) => {
        if (words[0] !== 'evalsha') return false;
        socket.write('-NOSCRIPT No matching script.\r\n');
        return true;
      });
      const { take } = await openReady();
      expect(await Promise.all([take(), take('hg:v1:{a}:b')])).toEqual([LIMIT - 1, LIMIT - 1]);
      expect(named('take').map(({ words }) => words[0])).toEqual(['evalsha', 'eval']);
      const [known, whole] = named('take').map(({ words }) => words.slice(2));
      expect(whole).toEqual(known);
    });

    test.each(REFUSALS)('a refusal has its reason, and ends nothing: %s', async (line, reason) => {
      answers(({ name, socket }) => name === 'take' && socket.write(`-${line}\r\n`));
      const { take, connection } = await openReady();
      expect(await take()).toBe(reason);
      expect(named('take')).toHaveLength(1);
      expect(connection.status).toBe('ready');
      answers();
      expect(await take()).toBe(LIMIT - 1);
    });

    test('a late reply is dropped, and those after it belong to their takes', async () => {
      const held: (() => void)[] = [];
      answers(({ name, answer, socket }) => {
        if (name !== 'take') return false;
        held.push(() => socket.write(answer, 'latin1'));
        if (held.length === 2) for (const send of held) send();
        return true;
      });
      const { take } = await openReady({ deadlineMs: 300 });
      expect(await take()).toBe('timeout');
      expect(await take('hg:v1:{a}:b')).toBe(LIMIT - 1);
    });

    test('a connection on which nothing arrives is closed, and replaced', async () => {
      let closed: Promise<unknown> | undefined;
      answers(({ name, socket, fallSilent }) => {
        if (name !== 'take' || closed !== undefined) return false;
        closed = once(socket, 'close');
        fallSilent();
        return true;
      });
      const { take, errors, counts } = await openReady({ deadlineMs: 100 });
      expect(await take()).toBe('timeout');
      await waitUntil('the take was seen', async () => closed !== undefined);
      await closed;
      await waitUntil('the silence is reported', async () => errors.length === 1);
      await counts();
    });

    test('a take is lost with its reply, wherever the reply ends, and never sent again', async () => {
      const lengths = new Set<number>();
      answers(({ name, words, answer, socket }) => {
        if (name !== 'take') return false;
        lengths.add(answer.length);
        socket.end(answer.slice(0, Number(words[3]?.split(':').at(-1))), 'latin1');
        return true;
      });
      const cuts = Array.from({ length: 35 }, (_, cut) => cut);
      const ends = cuts.map(async (cut) => (await openReady()).take(`hg:v1:{a}:${cut}`));
      expect(await Promise.all(ends)).toEqual(cuts.map(() => 'connection'));
      expect(Math.min(...lengths)).toBeGreaterThanOrEqual(cuts.length);
      expect(named('take')).toHaveLength(cuts.length);
    });

    test.each(['hello', 'client', 'info'])(
      'it connects again after an end at %s',
      async (command) => {
        let ends = 0;
        answers(({ name, socket }) => {
          if (name !== command || ends >= 4) return false;
          ends++;
          socket.destroy();
          return true;
        });
        const { take } = await openReady();
        expect(await take()).toBe(LIMIT - 1);
      },
    );

    test('nothing is sent without a connection, and nothing later', async () => {
      answers();
      const { take, ready } = await open();
      expect(await take()).toBe('connection');
      await ready();
      expect(named('take')).toHaveLength(0);
    });

    test('a server that became a replica is left once, and the take is not sent again', async () => {
      const left = new Set<Socket>();
      answers(({ name, socket }) => {
        if (name !== 'take' || left.size > 0) return false;
        left.add(socket);
        socket.write("-READONLY You can't write against a read only replica.\r\n");
        return true;
      });
      const { take, counts } = await openReady();
      expect(await take()).toBe('readonly');
      expect(named('take')).toHaveLength(1);
      await counts();
      expect(named('take').every(({ socket }, i) => i === 0 || !left.has(socket))).toBe(true);
    });

    test('it waits for a server that loads its data', async () => {
      let asks = 0;
      answers(({ name, socket }) => {
        if (name !== 'info' || ++asks > 3) return false;
        socket.write(bulk('# Persistence\r\nloading:1\r\nloading_eta_seconds:10\r\n'));
        return true;
      });
      const { connection, take, ready } = await open();
      await waitUntil('it asked', async () => asks > 0);
      expect(connection.status).not.toBe('ready');
      expect(await take()).toBe('connection');
      await ready();
      expect(asks).toBeGreaterThan(3);
    });

    test.each([
      ['client', '-ERR no such subcommand\r\n'],
      ['info', '-NOPERM this user has no permissions\r\n'],
      ['hello', '-NOPROTO unsupported protocol version\r\n'],
      ['hello', "-ERR unknown command 'HELLO'\r\n"],
    ])('it does without a right or a command: %s', async (command, reply) => {
      answers(({ name, socket }) => name === command && socket.write(reply));
      const { take, errors } = await openReady();
      expect(await take()).toBe(LIMIT - 1);
      expect(errors).toEqual([]);
    });

    test.each([
      ['hello', '-WRONGPASS invalid username-password pair or user is disabled.', 'wrongpass'],
      ['hello', '-NOAUTH HELLO must be called with the client already authenticated', 'noauth'],
      ['hello', '-ERR max number of clients reached', 'clients'],
      ['info', '-LOADING Redis is loading the dataset in memory', 'loading'],
    ])('a refusal at %s is reported, and it tries again: %s', async (command, line) => {
      answers(({ name, socket }) => name === command && socket.write(`${line}\r\n`));
      const { take, errors, ready } = await open();
      await waitUntil('it was refused twice', async () => errors.length >= 2);
      expect(errors[0]?.message).toBe(line.slice(1));
      expect(await take()).toBe('connection');
      answers();
      await ready();
    });

    test.each(['secret', 'user:p%40ss'])('a login is that of the URL: %s', async (login) => {
      const [user = '', password = ''] = login.includes(':') ? login.split(':') : ['', login];
      const url = fake.url.replace('://', `://${user}:${password}@`);
      answers();
      await openReady({ url });
      const words = ['auth', user || 'default', decodeURIComponent(password)];
      expect(named('hello')[0]?.words.slice(1).map(lowerAuth)).toEqual(['3', ...words]);
      answers(({ name, socket }) => name === 'hello' && socket.write('-NOPROTO no\r\n'));
      asked = [];
      await openReady({ url });
      const plain = user === '' ? words.slice(2) : words.slice(1);
      expect(named('auth')[0]?.words.slice(1)).toEqual(plain);
    });

    test('what it says first is what accounts have the rights to', async () => {
      answers();
      await openReady({ url: `${fake.url}/3` });
      const first = new Set(asked.map(({ name }) => name));
      expect([...first].sort()).toEqual(['client', 'hello', 'info', 'select']);
      expect(named('client')[0]?.words.slice(1).map(lower)).toEqual(['setname', 'headgate']);
      expect(named('select')[0]?.words[1]).toBe('3');
    });

    test('a database that the server lacks is reported once, and not tried again', async () => {
      answers(
        ({ name, socket }) =>
          name === 'select' && socket.write('-ERR DB index is out of range\r\n'),
      );
      const { connection, errors } = await open({ url: `${fake.url}/99` });
      await waitUntil('it gave up', async () => connection.status === 'end');
      expect(errors.filter(({ message }) => message.includes('DB index'))).toHaveLength(1);
    });

    test.each(MALFORMED)(
      'a reply that no script gives closes the connection: %s',
      async (_, bytes) => {
        answers(({ name, socket }) => name === 'take' && socket.write(bytes, 'latin1'));
        const { take, counts } = await openReady();
        expect(await take()).toBe('malformed');
        const [question] = named('take');
        if (question?.socket.destroyed === false) await once(question.socket, 'close');
        answers();
        await counts();
      },
    );

    test.each(['+OK\r\n', '*1\r\n:1\r\n', '-ERR idle for too long\r\n', 'noise\r\n'])(
      'a reply that nobody asked for closes the connection: %j',
      async (bytes) => {
        const sockets = new Set<Socket>();
        answers(({ socket }) => {
          sockets.add(socket);
          return false;
        });
        const { errors, counts } = await openReady();
        const closed = Promise.all(Array.from(sockets, (socket) => once(socket, 'close')));
        fake.say(bytes);
        await closed;
        await waitUntil('it is reported', async () => errors.length > 0);
        await counts();
      },
    );

    test('a reply that comes twice is told to no other take', async () => {
      let n = 0;
      answers(({ name, answer, socket }) => {
        if (name !== 'take' || n++ > 0) return false;
        socket.write(answer + answer, 'latin1');
        return true;
      });
      const { take } = await openReady();
      const ends = await Promise.all([take(), take('hg:v1:{a}:b')]);
      expect(ends.every((end) => end === LIMIT - 1)).toBe(true);
      await waitUntil('it counts', async () => {
        const end = await take();
        expect([LIMIT - 1, 'connection', 'malformed']).toContain(end);
        return end === LIMIT - 1;
      });
    });

    test('once it is disconnected, it does not connect again', async () => {
      answers();
      const { connection, take } = await openReady();
      const sockets = new Set(asked.map(({ socket }) => socket));
      const ended = new Promise<void>((resolve) => connection.once('end', resolve));
      connection.disconnect();
      expect(await take()).toBe('connection');
      await ended;
      fake.dropConnections();
      expect(connection.status).toBe('end');
      expect(new Set(asked.map(({ socket }) => socket))).toEqual(sockets);
    });
  });
}

const lower = (word: string) => word.toLowerCase();
const lowerAuth = (word: string) => (word === 'AUTH' ? 'auth' : word);
