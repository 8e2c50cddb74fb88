/**
 * Accounts of a real Redis that may publish to gateways, or write where gateways keep what they share. What such an
 * account can do ends there: no gateway ends, fills its memory or its log, loses its connection, or miscounts.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { connectTo, redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { residentBytes } from '../support/resident-memory.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';

const MIB = 1_048_576;
const MOST_GROWTH_BYTES = 96 * MIB;
const CHANNELS = ['hg:v1:reset', 'hg:v1:notices', 'hg:v1:questions'];
const HOUR_MS = 3_600_000;

let redis: TestRedis;
let gateway: GatewayProcess;
let admin: Redis;
let folder: string;
let clients = 0;

/** Logs in under a name and with rights of its own. */
async function hostile(...rights: string[]): Promise<Redis> {
  const name = `hostile-${randomUUID()}`;
  const basics = ['on', '>secret', 'resetchannels', '-@all', '+hello', '+auth', '+info', '+client'];
  await admin.call('ACL', 'SETUSER', name, ...basics, ...rights);
  return connectTo({ ...redis, url: redis.url.replace('://', `://${name}:secret@`) });
}

const publisher = () => hostile('&hg:v1:*', '+publish', '+subscribe');
const writer = (key: string) => hostile(`~${key}`, '&hg:v1:*', '+hset', '+del', '+set', '+publish');

const ask = (client: string) =>
  call(gateway.url, '/envoy/api/search', { headers: { 'x-headgate-client-ip': client } });

/** Two requests an hour pass, whatever was said and written. */
async function countsExactly(): Promise<void> {
  const client = `192.0.2.${++clients}`;
  expect(await statuses(5, () => ask(client))).toEqual([200, 200, 429, 429, 429]);
  expect((await ask(client)).headers['x-ratelimit-mode']).toBeUndefined();
}

async function operate<T>(path: string, body?: object): Promise<{ status: number; answer: T }> {
  const { status, body: text } = await call(gateway.opsUrl, path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status, answer: JSON.parse(text) as T };
}

async function metric(name: string): Promise<number> {
  const { body } = await call(gateway.opsUrl, '/metrics');
  const found = body.split('\n').find((line) => line.startsWith(`${name} `));
  return Number(found?.split(' ').at(-1) ?? 0);
}

async function calls(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

interface Overrides {
  readonly overrides: readonly { readonly client?: string; readonly reason: string }[];
}

/** When the next override arrives, all earlier ones have been read. */
async function boardIsRead(): Promise<void> {
  const client = `203.0.113.${++clients}`;
  const blocked = { client, for: '1h', reason: 'a mark' };
  expect((await operate('/v1/clients/block', blocked)).status).toBe(200);
  await eventually(
    () => ask(client),
    ({ status }) => status === 403,
  );
}

function noticeOf(change: object = {}, untilMs: number | string = Date.now() + HOUR_MS): string {
  const terms = { sinceMs: Date.now(), untilMs: 0, reason: 'planted', by: 'nobody' };
  const text = { about: 'client', client: 'u.planted', access: 'blocked', isLong: false, ...terms };
  return `${untilMs} ${JSON.stringify({ ...text, ...change })}`;
}

describe.skipIf(!redisIsHere)('whoever else may speak in Redis', () => {
  beforeAll(async () => {
    redis = await startRedis();
    await addShippedAccount(redis);
    admin = connectTo(redis);
    folder = await mkdtemp(join(tmpdir(), 'headgate-hostile-'));
    const policies = join(folder, 'policies.yaml');
    writeFileSync(policies, '{ version: 1, default: { limits: [2/1h] } }');
    gateway = await startGatewayProcess({
      HEADGATE_REDIS_URL: byShippedAccount(redis.url),
      HEADGATE_POLICIES: policies,
      // On a busy machine requests must not pass because Redis was late.
      HEADGATE_STORE_TIMEOUT_MS: '2000',
    });
    // A gateway starts without Redis when Redis is late.
    await eventually(
      () => ask('192.0.2.250'),
      ({ headers }) => headers['x-ratelimit-mode'] === undefined,
      30_000,
    );
    await countsExactly();
  });
  afterAll(async () => {
    admin?.disconnect();
    await gateway?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  test('messages of every shape on every channel', async () => {
    const client = await publisher();
    const beforeBytes = residentBytes(gateway.pid);
    const question = (fields: object) => JSON.stringify({ id: 'a', ...fields });
    const top = { about: 'top', most: 1e9, withinMs: 1e300, shadow: false };
    const messages = [
      ...[
        '',
        ' ',
        'null',
        '0',
        '-1e999',
        'true',
        '"x"',
        '[]',
        '{}',
        '[null]',
        '[[[]]]',
        '\0\u001b[2J',
      ],
      ...['{"__proto__":{"x":1}}', '["__proto__","constructor"]', '{"id":"__proto__","answer":[]}'],
      '['.repeat(200_000),
      '{"a":'.repeat(50_000),
      JSON.stringify(Array.from({ length: 100_000 }, (_, i) => `hg:v1:{i.${i}}:x`)),
      'x'.repeat(MIB),
      Buffer.alloc(MIB, 0xff),
      question({ replyTo: 'hg:v1:questions', question: top }),
      question({ replyTo: `hg:v1:questions:${'x'.repeat(100_000)}`, question: top }),
      question({ id: 'x'.repeat(100_000), replyTo: 'hg:v1:questions:x', question: top }),
      ...[
        { about: 'top', most: -5 },
        { about: 'decision', id: {} },
        { about: '__proto__' },
        null,
      ].map((asked) => question({ replyTo: 'hg:v1:questions:x', question: asked })),
    ];
    for (const channel of CHANNELS) {
      for (const message of messages) await client.publish(channel, message);
    }
    await countsExactly();
    await boardIsRead();
    // Longer than any reply to headgate: the gateway gives up the connection by which it listens, and listens again.
    for (const channel of CHANNELS) await client.publish(channel, Buffer.alloc(20 * MIB, 'x'));
    await countsExactly();
    await boardIsRead();
    expect(await metric('headgate_store_errors_total{reason="malformed"}')).toBe(0);
    expect(residentBytes(gateway.pid) - beforeBytes).toBeLessThan(MOST_GROWTH_BYTES);
    client.disconnect();
  });

  test('a flood of notices: the override store is read ten times a second', async () => {
    const client = await publisher();
    const [before, startMs] = [await calls('eval'), performance.now()];
    for (let i = 0; i < 100; i++) {
      await Promise.all(Array.from({ length: 200 }, () => client.publish('hg:v1:notices', 'x')));
    }
    await countsExactly();
    const seconds = (performance.now() - startMs) / 1_000;
    // With the reads and heartbeats that there are anyway.
    expect((await calls('eval')) - before).toBeLessThan(11 * seconds + 5);
    await boardIsRead();
    client.disconnect();
  });

  test('a flood of questions: fifty a second are answered', async () => {
    const client = await publisher();
    const asked = { about: 'top', most: 100, withinMs: 60_000, shadow: false };
    const message = JSON.stringify({ id: 'a', replyTo: 'hg:v1:questions:x', question: asked });
    const [before, startMs] = [await calls('publish'), performance.now()];
    for (let i = 0; i < 50; i++) {
      await Promise.all(
        Array.from({ length: 200 }, () => client.publish('hg:v1:questions', message)),
      );
    }
    await countsExactly();
    const seconds = (performance.now() - startMs) / 1_000;
    expect((await calls('publish')) - before - 10_000).toBeLessThanOrEqual(50 * (seconds + 2));
    client.disconnect();
  });

  test('a flood of resets: nobody is let in for it', async () => {
    const client = await publisher();
    let isFlooding = true;
    const keys = JSON.stringify(Array.from({ length: 500 }, (_, i) => `hg:v1:{i.${i}}:default:1h`));
    const flood = (async () => {
      for (let sent = 0; isFlooding && sent < 100_000; sent += 100) {
        await Promise.all(Array.from({ length: 100 }, () => client.publish('hg:v1:reset', keys)));
      }
    })();
    for (let i = 0; i < 10; i++) await countsExactly();
    isFlooding = false;
    await flood;
    client.disconnect();
  });

  test('forged answers to the questions of operators', async () => {
    const [ears, mouth] = [await publisher(), await publisher()];
    const good = {
      ...{
        decision_id: '0123456789ab-1',
        policy: 'forged',
        reason: 'over_limit',
        mode: 'enforced',
      },
      ...{ client: 'u.forged', identity: 'user', denials: 1, names: [], networks: [] },
      ...{ since: new Date(0).toISOString(), last: new Date().toISOString() },
    };
    const bad = [
      ...[null, 7, 'x', {}, [], { ...good, denials: 'many' }, { ...good, last: 'never' }],
      { ...good, policy: '\u001b[2J' },
      { ...good, client: 'x'.repeat(10_000) },
      { ...good, names: [{ toString: 'x' }] },
      { __proto__: good, names: null },
    ];
    await ears.subscribe('hg:v1:questions');
    ears.on('message', (_channel, message: string) => {
      const { id, replyTo } = JSON.parse(message);
      for (const answer of [null, 'x', bad, { report: bad[8] }, { report: null }, [bad]]) {
        void mouth.publish(replyTo, JSON.stringify({ id, answer }));
      }
      for (let i = 0; i < 20; i++) void mouth.publish(replyTo, '['.repeat(250_000));
    });
    for (let i = 0; i < 5; i++) {
      const { status, answer } = await operate<{ clients: { policy: string }[] }>(
        '/v1/clients/top?limit=100',
      );
      expect(status).toBe(200);
      expect(new Set(answer.clients.map(({ policy }) => policy))).toEqual(
        new Set(['default', 'none']),
      );
      const { status: unknown } = await operate('/v1/decisions/0123456789ab-1');
      expect(unknown).toBe(404);
    }
    expect(gateway.output()).not.toContain('operation_failed');
    ears.disconnect();
    mouth.disconnect();
  });

  describe('who may write the notices', () => {
    test('puts up nothing that no gateway can have put up', async () => {
      const client = await writer('hg:v1:notices');
      const junk = [
        ...['', ' ', 'x', `${Date.now() + HOUR_MS}`, `1e300 {}`, `${'9'.repeat(400)} {}`],
        noticeOf({}, Date.now() + 33 * 24 * HOUR_MS),
        noticeOf({}, '8640000000000000'),
        noticeOf({ client: '\u001b[2J' }),
        noticeOf({ reason: '\u0000' }),
        noticeOf({ by: 'x'.repeat(65) }),
        noticeOf({ reason: 'x'.repeat(201) }),
        noticeOf({ client: 'x'.repeat(10_000) }),
        noticeOf({ about: '__proto__' }),
        noticeOf({ about: 'policy', policy: 'x\ny', mode: 'off' }),
        `${Date.now() + HOUR_MS} "${'x'.repeat(MIB)}"`,
        `${Date.now() + HOUR_MS} ${'['.repeat(MIB)}`,
        `${Date.now() + HOUR_MS} ${'x'.repeat(30 * MIB)}`,
      ];
      for (const [i, value] of junk.entries()) await client.hset('hg:v1:notices', `${i}`, value);
      await client.hset('hg:v1:notices', 'x'.repeat(MIB), noticeOf());
      await client.publish('hg:v1:notices', '');
      await boardIsRead();
      await countsExactly();
      const { answer } = await operate<Overrides>('/v1/overrides');
      expect(answer.overrides.filter(({ reason }) => reason !== 'a mark')).toEqual([]);
      expect(await metric('headgate_store_errors_total{reason="malformed"}')).toBe(0);
      client.disconnect();
      await admin.hdel('hg:v1:notices', ...Object.keys(junk), 'x'.repeat(MIB));
    });

    test('cannot fill a gateway: of too many none is read, and what was in force stays', async () => {
      const client = await writer('hg:v1:notices');
      await boardIsRead();
      const { answer: before } = await operate<Overrides>('/v1/overrides');
      const many = Array.from({ length: 5_000 }, (_, i) => [
        `client:u.${i}`,
        noticeOf({ client: `u.${i}`, more: 'x'.repeat(3_500) }),
      ]);
      // At once: what a gateway reads in between would be in force.
      await client.hset('hg:v1:notices', Object.fromEntries(many));
      await client.publish('hg:v1:notices', '');
      await gateway.printed(/"event":"overrides_unread"/);
      await countsExactly();
      const { answer: after } = await operate<Overrides>('/v1/overrides');
      expect(after).toEqual(before);
      expect(await metric('headgate_store_errors_total{reason="malformed"}')).toBe(0);
      client.disconnect();
      await admin.del('hg:v1:notices');
      await boardIsRead();
    });

    test('takes them down again and again: one line a minute says so', async () => {
      const client = await writer('hg:v1:notices');
      await boardIsRead();
      for (let i = 0; i < 50; i++) {
        await client.del('hg:v1:notices');
        await client.publish('hg:v1:notices', '');
        await eventually(
          () => admin.exists('hg:v1:notices'),
          (there) => there === 1,
        );
      }
      const lines = gateway.output().match(/"event":"overrides_restored"/g) ?? [];
      expect(lines.length).toBeLessThanOrEqual(2);
      client.disconnect();
    });
  });

  test('who may write the heartbeats shrinks what `local` lets through, and nothing else', async () => {
    const client = await writer('hg:v1:replicas');
    const nowMs = Date.now();
    for (let i = 0; i < 10; i++) {
      const names = Array.from({ length: 5_000 }, (_, n) => [`${i}-${n}`, nowMs + 5_000]);
      await client.hset('hg:v1:replicas', Object.fromEntries(names));
    }
    const odd = [
      '',
      'x',
      'nan',
      '-nan',
      'inf',
      '-inf',
      '1e999',
      '\0',
      '0x7fffffff',
      'x'.repeat(MIB),
    ];
    await client.hset(
      'hg:v1:replicas',
      Object.fromEntries(odd.map((value, i) => [`odd ${i}`, value])),
    );
    await client.hset('hg:v1:replicas', 'x'.repeat(20 * MIB), nowMs);
    await eventually(
      () => admin.hlen('hg:v1:replicas'),
      (count) => count <= 1_000,
    );
    await eventually(
      () => operate<{ gateways: number }>('/stats').then(({ answer }) => answer.gateways),
      (gateways) => gateways === 1_000,
    );
    await countsExactly();
    expect(gateway.output()).not.toContain('heartbeat_lost');
    expect(await metric('headgate_store_errors_total{reason="malformed"}')).toBe(0);
    await eventually(
      () => operate<{ gateways: number }>('/stats').then(({ answer }) => answer.gateways),
      (gateways) => gateways === 1,
      20_000,
    );
    client.disconnect();
  });

  test('all of it left a dozen lines in the log, and the gateway runs', async () => {
    await countsExactly();
    const lines = gateway.output().match(/^\{.*"level":"?(warn|error|fatal|[456]0)/gm) ?? [];
    expect(lines.length, lines.join('\n')).toBeLessThan(30);
    expect(gateway.output()).not.toMatch(/"event":"(crashed|check_failed|operation_failed)"/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for.
    expect(gateway.output()).not.toMatch(/[\u0000\u001b]/);
  });
});
