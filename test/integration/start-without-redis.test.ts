/** A gateway that starts while Redis is down, hangs or refuses to count: its banner, and its log once Redis counts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Fault, startFakeRedis } from '../support/fake-redis.ts';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { connectTo, startRedis, testWithOwnRedis } from '../support/redis.ts';

const ALLOW_ONLY = 'version: 1\ndefault: { limits: [1000/1h] }\n';
const ALL_MODES = `
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [5/1h], on_store_failure: local }
  - { name: pay, match: { path: /pay }, limits: [5/1h], on_store_failure: deny }
  - { name: search, match: { path: /search }, limits: [5/1h] }
  - { name: trial, match: { path: /trial }, limits: [5/1h], mode: shadow }
`;

const folder = mkdtempSync(join(tmpdir(), 'headgate-start-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
const allowOnly = file('allow.yaml', ALLOW_ONLY);
const allModes = file('all.yaml', ALL_MODES);

const start = (port: number, policies: string, env: NodeJS.ProcessEnv = {}) =>
  startGateway({
    HEADGATE_REDIS_URL: `redis://127.0.0.1:${port}`,
    HEADGATE_POLICIES: policies,
    ...env,
  });

const timesOf = (gateway: Gateway, event: string) =>
  gateway.output().match(new RegExp(`"event":"${event}"`, 'g'))?.length ?? 0;
const readiness = async (gateway: Gateway) => (await call(gateway.opsUrl, '/readyz')).body;
const check = (gateway: Gateway) => call(gateway.url, '/envoy/a');

// The tests mostly wait.
describe.concurrent('the banner', () => {
  testWithOwnRedis('says that Redis is down, and what happens to requests', async ({ expect }) => {
    const port = await freePort();
    await using gateway = await start(port, allowOnly);
    expect(gateway.output()).toContain(
      `store     Redis at 127.0.0.1:${port}: NOT CONNECTED (headgate check --redis says why), requests pass uncounted (on_store_failure: allow)\n`,
    );
    expect(gateway.output()).toContain(
      '"event":"started_uncounted","allow":["default"],"local":[]',
    );
    expect(await readiness(gateway)).toBe('{"status":"degraded"}');
  });

  testWithOwnRedis('lists the policies of each on_store_failure', async ({ expect }) => {
    const port = await freePort();
    await using gateway = await start(port, allModes);
    expect(gateway.output()).toContain(
      `store     Redis at 127.0.0.1:${port}: NOT CONNECTED (headgate check --redis says why)
            requests pass uncounted (on_store_failure: allow): search, default
            each gateway counts its own share of the limits (on_store_failure: local): login
            requests are denied (on_store_failure: deny): pay
`,
    );
  });

  // A start waits half a second for Redis, so nothing else may keep this process busy.
  testWithOwnRedis('has no warning if Redis counts', { concurrent: false }, async ({ expect }) => {
    await using redis = await startRedis();
    const output = async () => {
      await using gateway = await start(redis.port, allowOnly, PATIENT);
      return gateway.output();
    };
    // On a busy machine, Redis may answer only after that, and the log says so.
    const isOnTime = (text: string) => !/"event":"(started_uncounted|overrides_unread)"/.test(text);
    const text = await eventually(output, isOnTime);
    expect(text).toContain(`store     Redis at 127.0.0.1:${redis.port}\n`);
    expect(text).not.toContain('"event"');
  });

  testWithOwnRedis('says that Redis refuses to count if it is full', async ({ expect }) => {
    await using redis = await startRedis();
    const client = connectTo(redis);
    await client.call('CONFIG', 'SET', 'maxmemory', '1');
    await using gateway = await start(redis.port, allowOnly, PATIENT);
    expect(gateway.output()).toContain(
      `store     Redis at 127.0.0.1:${redis.port}: REFUSES TO COUNT (headgate check --redis says why), requests pass uncounted (on_store_failure: allow)\n`,
    );
    expect(await readiness(gateway)).toBe('{"status":"degraded"}');
    await client.call('CONFIG', 'SET', 'maxmemory', '0');
    client.disconnect();
    // There is no request: the heartbeat finds out.
    await gateway.printed(/"event":"store_recovered"/);
    expect(await readiness(gateway)).toBe('{"status":"ok"}');
  });
});

describe.concurrent('the log says once that Redis counts', () => {
  testWithOwnRedis('if it starts after the gateway', async ({ expect }) => {
    const port = await freePort();
    await using gateway = await start(port, allowOnly, PATIENT);
    expect((await check(gateway)).headers['x-ratelimit-mode']).toBe('open');
    await using _redis = await startRedis(port);
    await gateway.printed(/"event":"store_recovered"/);
    expect((await check(gateway)).headers['x-ratelimit-limit']).toBe('1000');
    expect(timesOf(gateway, 'started_uncounted')).toBe(1);
    expect(timesOf(gateway, 'store_recovered')).toBe(1);
    expect(await readiness(gateway)).toBe('{"status":"ok"}');
  });

  testWithOwnRedis('if it hangs when the gateway starts, and then goes on', async ({ expect }) => {
    await using redis = await startRedis();
    redis.signal('SIGSTOP');
    try {
      await using gateway = await start(redis.port, allowOnly);
      expect(gateway.output()).toContain(
        ': NOT CONNECTED (headgate check --redis says why), requests pass',
      );
      expect(await readiness(gateway)).toBe('{"status":"degraded"}');
      redis.signal('SIGCONT');
      await gateway.printed(/"event":"store_recovered"/);
      expect(timesOf(gateway, 'started_uncounted')).toBe(1);
      expect(timesOf(gateway, 'store_recovered')).toBe(1);
    } finally {
      redis.signal('SIGCONT');
    }
  });

  testWithOwnRedis('for each worker', async ({ expect }) => {
    const port = await freePort();
    await using gateway = await start(port, allModes, { ...PATIENT, HEADGATE_WORKERS: '2' });
    expect(gateway.output().match(/NOT CONNECTED/g)).toHaveLength(1);
    expect(gateway.output()).toContain('(on_store_failure: deny): pay\n');
    await using _redis = await startRedis(port);
    for (const worker of [0, 1]) {
      await gateway.printed(new RegExp(`"worker":${worker},"event":"store_recovered"`));
    }
    expect(timesOf(gateway, 'started_uncounted')).toBe(2);
    expect(timesOf(gateway, 'store_recovered')).toBe(2);
  });
});

/** More than the store timeout, and less than the time to the next probe. */
const LATE_MS = 75;

/** Answers the script that counts too late. All answers are in order, as those of Redis are. */
function lateWithScripts(): Fault {
  const waiting: { dueMs: number; write: () => void }[] = [];
  const writeDue = () => {
    while (waiting[0] !== undefined && waiting[0].dueMs <= performance.now())
      waiting.shift()?.write();
  };
  return ({ name, socket, answer }) => {
    const nowMs = performance.now();
    const dueMs = name === 'take' ? nowMs + LATE_MS : (waiting.at(-1)?.dueMs ?? 0);
    if (dueMs <= nowMs && waiting.length === 0) return false;
    waiting.push({ dueMs, write: () => socket.writable && socket.write(answer, 'latin1') });
    setTimeout(writeDue, dueMs - nowMs + 1);
    return true;
  };
}

testWithOwnRedis.concurrent(
  'the gateway stays degraded, and logs little, if Redis answers PING in time and scripts too late',
  async ({ expect }) => {
    await using redis = await startFakeRedis();
    await using gateway = await start(Number(new URL(redis.url).port), allowOnly);
    const metric = async (name: string) => {
      const { body } = await call(gateway.opsUrl, '/metrics');
      return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(body)?.[1]);
    };
    redis.misbehave(lateWithScripts());
    // The gateway gives Redis up, uses it again because it answers a probe, and gives it up again.
    await eventually(
      async () => {
        for (let i = 0; i < 5; i++) await check(gateway);
        return metric('headgate_store_given_up_total');
      },
      (times) => times >= 8,
      60_000,
    );
    expect(await metric('headgate_degraded')).toBe(1);
    // The log has one line a minute for each reason, and another one if the connection breaks.
    expect(timesOf(gateway, 'store_failed')).toBeLessThanOrEqual(3);
    expect(timesOf(gateway, 'store_recovered')).toBeLessThanOrEqual(1);
    redis.misbehave(undefined);
    await eventually(
      async () => (await check(gateway)) && readiness(gateway),
      (status) => status === '{"status":"ok"}',
      60_000,
    );
    expect(timesOf(gateway, 'store_recovered')).toBeLessThanOrEqual(2);
  },
);
