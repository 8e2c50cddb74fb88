/**
 * Hostile accounts of a real Redis, which may publish to gateways or write to the keys that gateways share. They cannot
 * make a gateway end, fill its memory or its log, lose its connection, or miscount.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { connectTo, redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { residentBytes } from '../support/resident-memory.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';

const MIB = 1_048_576;
const MOST_GROWTH_BYTES = 96 * MIB;
const RESETS = 'hg:v1:reset';
/** Key and channel. */
const OVERRIDES = 'hg:v1:notices';
const LOOKUPS = 'hg:v1:questions';
const HEARTBEATS = 'hg:v1:replicas';
const SALTS = 'hg:v1:salts';
/** Those of three days and three long periods, and the one that is kept. */
const SALTS_OF_A_GATEWAY = 7;
const KEYS = 'hg:v1:keys';
const CHANNELS = [RESETS, OVERRIDES, LOOKUPS, SALTS, KEYS];
const HOUR_MS = 3_600_000;
/** Each step, on a busy machine. */
const WITHIN_MS = 60_000;

let redis: TestRedis;
let gateway: GatewayProcess;
let admin: Redis;
let folder: string;
let clients = 0;

/** Connects with a new account that has these rights. */
async function hostile(...rights: string[]): Promise<Redis> {
  const name = `hostile-${randomUUID()}`;
  const basics = ['on', '>secret', 'resetchannels', '-@all', '+hello', '+auth', '+info', '+client'];
  await admin.call('ACL', 'SETUSER', name, ...basics, ...rights);
  return connectTo({ ...redis, url: redis.url.replace('://', `://${name}:secret@`) });
}

const publisher = () => hostile('&hg:v1:*', '+publish', '+subscribe');
const writer = (key: string) => hostile(`~${key}`, '&hg:v1:*', '+hset', '+del', '+set', '+publish');

const check = (client: string) =>
  call(gateway.url, '/envoy/api/search', { headers: { 'x-headgate-client-ip': client } });

/** The limit is two requests an hour. */
async function countsExactly(): Promise<void> {
  const client = `192.0.2.${++clients}`;
  expect(await statuses(5, () => check(client))).toEqual([200, 200, 429, 429, 429]);
  expect((await check(client)).headers['x-ratelimit-mode']).toBeUndefined();
}

async function operate<T>(path: string, body?: object): Promise<{ status: number; answer: T }> {
  const { status, body: text } = await call(gateway.opsUrl, path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status, answer: JSON.parse(text) as T };
}

async function calls(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

interface Overrides {
  readonly overrides: readonly { readonly client?: string; readonly reason: string }[];
}

/** Once a new override applies, the gateway has read all earlier ones. */
async function overridesAreRead(): Promise<void> {
  const client = `203.0.113.${++clients}`;
  const blocked = { client, for: '1h', reason: 'marker' };
  expect((await operate('/v1/clients/block', blocked)).status).toBe(200);
  await eventually(
    () => check(client),
    ({ status }) => status === 403,
    WITHIN_MS,
  );
}

function overrideEntry(
  change: object = {},
  untilMs: number | string = Date.now() + HOUR_MS,
): string {
  const terms = { sinceMs: Date.now(), untilMs: 0, reason: 'planted', by: 'nobody' };
  const text = { about: 'client', client: 'u.planted', access: 'blocked', isLong: false, ...terms };
  return `${untilMs} ${JSON.stringify({ ...text, ...change })}`;
}

/** Messages that no gateway sends. */
function oddMessages(): (string | Buffer)[] {
  const lookup = (fields: object) => JSON.stringify({ id: 'a', ...fields });
  const top = { about: 'top', most: 1e9, withinMs: 1e300, shadow: false };
  return [
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
    lookup({ replyTo: LOOKUPS, question: top }),
    lookup({ replyTo: `${LOOKUPS}:${'x'.repeat(100_000)}`, question: top }),
    lookup({ id: 'x'.repeat(100_000), replyTo: `${LOOKUPS}:x`, question: top }),
    ...[
      { about: 'top', most: -5 },
      { about: 'decision', id: {} },
      { about: '__proto__' },
      ...[undefined, -1, 0, 0.5, '7', 1e300, Number.MAX_SAFE_INTEGER].map((untilMs) => ({
        ...{ about: 'overview', untilMs },
      })),
      null,
    ].map((question) => lookup({ replyTo: `${LOOKUPS}:x`, question })),
  ];
}

/** Overrides that no gateway writes. */
function oddOverrides(): string[] {
  return [
    ...['', ' ', 'x', `${Date.now() + HOUR_MS}`, `1e300 {}`, `${'9'.repeat(400)} {}`],
    overrideEntry({}, Date.now() + 33 * 24 * HOUR_MS),
    overrideEntry({}, '8640000000000000'),
    overrideEntry({ client: '\u001b[2J' }),
    overrideEntry({ reason: '\u0000' }),
    overrideEntry({ by: 'x'.repeat(65) }),
    overrideEntry({ reason: 'x'.repeat(201) }),
    overrideEntry({ client: 'x'.repeat(10_000) }),
    overrideEntry({ about: '__proto__' }),
    overrideEntry({ about: 'policy', policy: 'x\ny', mode: 'off' }),
    `${Date.now() + HOUR_MS} "${'x'.repeat(MIB)}"`,
    `${Date.now() + HOUR_MS} ${'['.repeat(MIB)}`,
    `${Date.now() + HOUR_MS} ${'x'.repeat(30 * MIB)}`,
  ];
}

describe.skipIf(!redisIsHere)('an account that may publish', () => {
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
      ...PATIENT,
    });
    // On a busy machine, the gateway may start before Redis answers.
    await eventually(
      () => check('192.0.2.250'),
      ({ headers }) => headers['x-ratelimit-mode'] === undefined,
      WITHIN_MS,
    );
    await countsExactly();
  });
  afterAll(async () => {
    admin?.disconnect();
    await gateway?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  test('does no harm with messages of any shape and size', async () => {
    const client = await publisher();
    const beforeBytes = residentBytes(gateway.pid);
    for (const channel of CHANNELS) {
      for (const message of oddMessages()) await client.publish(channel, message);
    }
    await countsExactly();
    await overridesAreRead();
    // These are longer than any message may be, so the gateway closes its subscription and subscribes again.
    for (const channel of CHANNELS) await client.publish(channel, Buffer.alloc(20 * MIB, 'x'));
    await countsExactly();
    await overridesAreRead();
    expect(await metric(gateway, 'headgate_store_errors_total{reason="malformed"}')).toBe(0);
    expect(residentBytes(gateway.pid) - beforeBytes).toBeLessThan(MOST_GROWTH_BYTES);
    client.disconnect();
  });

  test('makes the gateway read the overrides at most ten times a second', async () => {
    const client = await publisher();
    const [before, startMs] = [await calls('eval'), performance.now()];
    for (let i = 0; i < 100; i++) {
      await Promise.all(Array.from({ length: 200 }, () => client.publish(OVERRIDES, 'x')));
    }
    await countsExactly();
    const seconds = (performance.now() - startMs) / 1_000;
    // Heartbeats and regular reads are included.
    expect((await calls('eval')) - before).toBeLessThan(11 * seconds + 5);
    await overridesAreRead();
    client.disconnect();
  });

  test('makes the gateway look for lost salts at most ten times a second', async () => {
    const client = await publisher();
    const [before, startMs] = [await calls('get'), performance.now()];
    for (let i = 0; i < 50; i++) {
      await Promise.all(Array.from({ length: 200 }, () => client.publish(SALTS, 'x')));
    }
    await countsExactly();
    const seconds = (performance.now() - startMs) / 1_000;
    const asked = (await calls('get')) - before;
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(SALTS_OF_A_GATEWAY * (11 * seconds + 5));
    client.disconnect();
  });

  test('makes the gateway answer at most fifty lookups a second', async () => {
    const client = await publisher();
    const question = { about: 'top', most: 100, withinMs: 60_000, shadow: false };
    const message = JSON.stringify({ id: 'a', replyTo: `${LOOKUPS}:x`, question });
    const [before, startMs] = [await calls('publish'), performance.now()];
    for (let i = 0; i < 50; i++) {
      await Promise.all(Array.from({ length: 200 }, () => client.publish(LOOKUPS, message)));
    }
    await countsExactly();
    const seconds = (performance.now() - startMs) / 1_000;
    expect((await calls('publish')) - before - 10_000).toBeLessThanOrEqual(50 * (seconds + 2));
    client.disconnect();
  });

  test('cannot let other clients pass with a flood of resets', async () => {
    const client = await publisher();
    let isFlooding = true;
    const keys = JSON.stringify(Array.from({ length: 500 }, (_, i) => `hg:v1:{i.${i}}:default:1h`));
    const flood = (async () => {
      for (let sent = 0; isFlooding && sent < 100_000; sent += 100) {
        await Promise.all(Array.from({ length: 100 }, () => client.publish(RESETS, keys)));
      }
    })();
    for (let i = 0; i < 5; i++) await countsExactly();
    isFlooding = false;
    await flood;
    client.disconnect();
  });

  test('cannot put malformed entries into the lists of denied clients', async () => {
    const [listener, forger] = [await publisher(), await publisher()];
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
    await listener.subscribe(LOOKUPS);
    listener.on('message', (_channel, message: string) => {
      const { id, replyTo } = JSON.parse(message);
      for (const answer of [null, 'x', bad, { report: bad[8] }, { report: null }, [bad]]) {
        void forger.publish(replyTo, JSON.stringify({ id, answer }));
      }
      for (let i = 0; i < 20; i++) void forger.publish(replyTo, '['.repeat(250_000));
    });
    for (let i = 0; i < 2; i++) {
      const { status, answer } = await operate<{ clients: { policy: string }[] }>(
        '/v1/clients/top?limit=100',
      );
      expect(status).toBe(200);
      expect(new Set(answer.clients.map(({ policy }) => policy))).toEqual(
        new Set(['default', 'none']),
      );
      expect((await operate('/v1/decisions/0123456789ab-1')).status).toBe(404);
    }
    expect(gateway.output()).not.toContain('operation_failed');
    listener.disconnect();
    forger.disconnect();
  });

  describe('and may write the overrides', () => {
    test('cannot add an override that no gateway writes', async () => {
      const client = await writer(OVERRIDES);
      const junk = oddOverrides();
      for (const [i, value] of junk.entries()) await client.hset(OVERRIDES, `${i}`, value);
      await client.hset(OVERRIDES, 'x'.repeat(MIB), overrideEntry());
      await client.publish(OVERRIDES, '');
      await overridesAreRead();
      await countsExactly();
      const { answer } = await operate<Overrides>('/v1/overrides');
      expect(answer.overrides.filter(({ reason }) => reason !== 'marker')).toEqual([]);
      expect(await metric(gateway, 'headgate_store_errors_total{reason="malformed"}')).toBe(0);
      client.disconnect();
      await admin.hdel(OVERRIDES, ...Object.keys(junk), 'x'.repeat(MIB));
    });

    test('cannot fill a gateway: if there are too many overrides, the previous ones stay in force', async () => {
      const client = await writer(OVERRIDES);
      await overridesAreRead();
      const { answer: before } = await operate<Overrides>('/v1/overrides');
      const many = Array.from({ length: 5_000 }, (_, i) => [
        `client:u.${i}`,
        overrideEntry({ client: `u.${i}`, more: 'x'.repeat(3_500) }),
      ]);
      // In one command, because overrides that a gateway reads in between would be in force.
      await client.hset(OVERRIDES, Object.fromEntries(many));
      await client.publish(OVERRIDES, '');
      await gateway.printed(/"event":"overrides_unread"/);
      await countsExactly();
      const { answer: after } = await operate<Overrides>('/v1/overrides');
      expect(after).toEqual(before);
      expect(await metric(gateway, 'headgate_store_errors_total{reason="malformed"}')).toBe(0);
      client.disconnect();
      await admin.del(OVERRIDES);
      await overridesAreRead();
    });

    test('causes one log line a minute if it deletes the overrides again and again', async () => {
      const client = await writer(OVERRIDES);
      await overridesAreRead();
      for (let i = 0; i < 20; i++) {
        await client.del(OVERRIDES);
        await client.publish(OVERRIDES, '');
        await eventually(
          () => admin.exists(OVERRIDES),
          (count) => count === 1,
          WITHIN_MS,
        );
      }
      const lines = gateway.output().match(/"event":"overrides_restored"/g) ?? [];
      expect(lines.length).toBeLessThanOrEqual(2);
      client.disconnect();
    });
  });

  test('and may write the heartbeats can shrink the limits of `on_store_failure: local`, and nothing else', async () => {
    const client = await writer(HEARTBEATS);
    const forge = (prefix: string, count: number) => {
      const names = Array.from({ length: count }, (_, n) => [`${prefix}-${n}`, Date.now()]);
      return client.hset(HEARTBEATS, Object.fromEntries(names));
    };
    const gateways = async () => (await operate<{ gateways: number }>('/stats')).answer.gateways;
    for (let i = 0; i < 10; i++) await forge(`${i}`, 5_000);
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
    await client.hset(HEARTBEATS, Object.fromEntries(odd.map((value, i) => [`odd ${i}`, value])));
    await client.hset(HEARTBEATS, 'x'.repeat(20 * MIB), Date.now());
    await eventually(
      () => admin.hlen(HEARTBEATS),
      (count) => count <= 1_000,
      WITHIN_MS,
    );
    await eventually(
      async () => {
        // On a busy machine, the first ones may expire before the gateway reads them.
        await forge('0', 1_000);
        return gateways();
      },
      (count) => count === 1_000,
      WITHIN_MS,
    );
    await countsExactly();
    expect(gateway.output()).not.toContain('heartbeat_lost');
    expect(await metric(gateway, 'headgate_store_errors_total{reason="malformed"}')).toBe(0);
    await eventually(gateways, (count) => count === 1, WITHIN_MS);
    client.disconnect();
  });

  test('leaves few lines in the log, and the gateway runs', async () => {
    await countsExactly();
    const lines = gateway.output().match(/^\{.*"level":"?(warn|error|fatal|[456]0)/gm) ?? [];
    expect(lines.length, lines.join('\n')).toBeLessThan(30);
    expect(gateway.output()).not.toMatch(/"event":"(crashed|check_failed|operation_failed)"/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the log must not have them.
    expect(gateway.output()).not.toMatch(/[\u0000\u001b]/);
  });
});
