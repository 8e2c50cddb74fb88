/** A gateway that starts while Redis is away, hangs or refuses: what the banner and the log say, and when they say that it is over. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Fault, startFakeRedis } from '../support/fake-redis.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
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

function fileWith(text: string): string {
  const path = join(folder, `${text.length}.yaml`);
  writeFileSync(path, text);
  return path;
}

async function start(port: number, policies: string, env: NodeJS.ProcessEnv = {}) {
  const gateway = await startGateway({
    HEADGATE_REDIS_URL: `redis://127.0.0.1:${port}`,
    HEADGATE_POLICIES: fileWith(policies),
    ...env,
  });
  onTestFinished(() => void gateway.stop());
  return gateway;
}

const timesOf = (gateway: Gateway, event: string) =>
  gateway.output().match(new RegExp(`"event":"${event}"`, 'g'))?.length ?? 0;
const readiness = async (gateway: Gateway) => (await call(gateway.opsUrl, '/readyz')).body;
const ask = (gateway: Gateway) => call(gateway.url, '/envoy/a');

describe('the banner', () => {
  testWithOwnRedis('says that Redis is not reachable, and what becomes of requests', async () => {
    const port = await freePort();
    const gateway = await start(port, ALLOW_ONLY);
    expect(gateway.output()).toContain(
      `store     Redis at 127.0.0.1:${port}: NOT CONNECTED (headgate check --redis says why), requests pass uncounted (on_store_failure: allow)\n`,
    );
    expect(gateway.output()).toContain(
      '"event":"started_uncounted","allow":["default"],"local":[]',
    );
    expect(await readiness(gateway)).toBe('{"status":"degraded"}');
  });

  testWithOwnRedis('lists the policies of each on_store_failure that the file has', async () => {
    const port = await freePort();
    const gateway = await start(port, ALL_MODES);
    expect(gateway.output()).toContain(
      `store     Redis at 127.0.0.1:${port}: NOT CONNECTED (headgate check --redis says why)
            requests pass uncounted (on_store_failure: allow): search, default
            each gateway counts its own share of the limits (on_store_failure: local): login
            requests are denied (on_store_failure: deny): pay
`,
    );
  });

  testWithOwnRedis('says no such thing of a Redis that counts', async () => {
    await using redis = await startRedis();
    const gateway = await start(redis.port, ALLOW_ONLY);
    expect(gateway.output()).toContain(`store     Redis at 127.0.0.1:${redis.port}\n`);
    expect(gateway.output()).not.toContain('"event"');
  });

  testWithOwnRedis('says that a Redis which is full refuses to count', async () => {
    await using redis = await startRedis();
    const client = connectTo(redis);
    await client.call('CONFIG', 'SET', 'maxmemory', '1');
    const gateway = await start(redis.port, ALLOW_ONLY);
    expect(gateway.output()).toContain(
      `store     Redis at 127.0.0.1:${redis.port}: REFUSES TO COUNT (headgate check --redis says why), requests pass uncounted (on_store_failure: allow)\n`,
    );
    expect(await readiness(gateway)).toBe('{"status":"degraded"}');
    await client.call('CONFIG', 'SET', 'maxmemory', '0');
    client.disconnect();
    // Nobody asks for anything: the heartbeat finds out.
    await gateway.printed(/"event":"store_recovered"/);
    expect(await readiness(gateway)).toBe('{"status":"ok"}');
  });
});

describe('the log says once that Redis counts', () => {
  testWithOwnRedis('when it is started after the gateway', async () => {
    const port = await freePort();
    const gateway = await start(port, ALLOW_ONLY);
    expect((await ask(gateway)).headers['x-ratelimit-mode']).toBe('open');
    await using _redis = await startRedis(port);
    await gateway.printed(/"event":"store_recovered"/);
    expect((await ask(gateway)).headers['x-ratelimit-limit']).toBe('1000');
    expect(timesOf(gateway, 'started_uncounted')).toBe(1);
    expect(timesOf(gateway, 'store_recovered')).toBe(1);
    expect(await readiness(gateway)).toBe('{"status":"ok"}');
  });

  testWithOwnRedis('when it hung at the start, and goes on', async () => {
    await using redis = await startRedis();
    redis.signal('SIGSTOP');
    try {
      const gateway = await start(redis.port, ALLOW_ONLY);
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

  testWithOwnRedis('by each of several workers', async () => {
    const port = await freePort();
    const gateway = await start(port, ALL_MODES, { HEADGATE_WORKERS: '2' });
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

/** Later than the deadline of the gateway, and before its next probe. */
const LATE_MS = 75;

/** Answers what counts too late, and everything in order, as Redis does. */
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

testWithOwnRedis(
  'a Redis that answers PING in time and scripts too late is degraded all the time, and fills no log',
  async () => {
    await using redis = await startFakeRedis();
    const gateway = await start(Number(new URL(redis.url).port), ALLOW_ONLY);
    const metric = async (name: string) => {
      const { body } = await call(gateway.opsUrl, '/metrics');
      return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(body)?.[1]);
    };
    redis.misbehave(lateWithScripts());
    // It is given up, asked again since it answers a probe, and given up again.
    await eventually(
      async () => {
        for (let i = 0; i < 5; i++) await ask(gateway);
        return metric('headgate_store_given_up_total');
      },
      (times) => times >= 8,
      20_000,
    );
    expect(await metric('headgate_degraded')).toBe(1);
    // One a minute for each reason; a connection that broke meanwhile may have ended it once.
    expect(timesOf(gateway, 'store_failed')).toBeLessThanOrEqual(3);
    expect(timesOf(gateway, 'store_recovered')).toBeLessThanOrEqual(1);
    redis.misbehave(undefined);
    await eventually(
      async () => (await ask(gateway)) && readiness(gateway),
      (status) => status === '{"status":"ok"}',
      15_000,
    );
    expect(timesOf(gateway, 'store_recovered')).toBeLessThanOrEqual(2);
  },
);
