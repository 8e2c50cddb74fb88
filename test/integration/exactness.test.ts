/** Four gateway processes on one Redis, under more load than the limit admits, judged by the server's own record. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fullestWindow, type Recorded, wrongDenials } from '../support/exactness.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { connectTo, redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';

const LIMIT = 40;
const WINDOW_MS = 1_000;
const GATEWAYS = 4;
const CLIENTS = 3;
const DURATION_MS = 5_000;

describe.skipIf(!redisIsHere)('four gateways on one Redis', () => {
  let folder: string;
  let redis: TestRedis;
  let gateways: Gateway[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-exactness-'));
    const policies = join(folder, 'policies.yaml');
    writeFileSync(policies, `{ version: 1, default: { limits: [${LIMIT}/1s] } }`);
    redis = await startRedis();
    gateways = await Promise.all(
      Array.from({ length: GATEWAYS }, () =>
        startGateway({
          HEADGATE_REDIS_URL: redis.url,
          HEADGATE_POLICIES: policies,
          // On a busy machine a slow answer is not what this test is about.
          HEADGATE_STORE_TIMEOUT_MS: '5000',
        }),
      ),
    );
  });

  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await redis[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** What Redis was told to append, by key, with the stamps that it was told: the record of every admission. */
  async function recordAppends() {
    const stampsByKey = new Map<string, number[]>();
    const client = connectTo(redis);
    const monitor = await client.monitor();
    monitor.on('monitor', (_time: string, [command, key = '', ...stamps]: string[]) => {
      if (command?.toLowerCase() !== 'rpush') return;
      const known = stampsByKey.get(key) ?? [];
      known.push(...stamps.map(Number));
      stampsByKey.set(key, known);
    });
    return {
      stampsByKey,
      stop: () => {
        monitor.disconnect();
        client.disconnect();
      },
    };
  }

  test('no window holds more than the limit, and nothing is denied that had room', async () => {
    const record = await recordAppends();
    const agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const requests = new Map<string, Recorded[]>();
    const endMs = Date.now() + DURATION_MS;

    async function hammer(client: string, gateway: Gateway): Promise<void> {
      const headers = { 'x-headgate-client-ip': client };
      while (Date.now() < endMs) {
        const sentMs = Date.now();
        const { status } = await call(gateway.url, '/envoy/', { headers, agent });
        expect([200, 429]).toContain(status);
        requests.get(client)?.push({ admitted: status === 200, sentMs, answeredMs: Date.now() });
        // Bursts and lulls, so that windows fill and empty.
        await new Promise((resolve) => setTimeout(resolve, sentMs % 700 < 350 ? 1 : 40));
      }
    }
    const workers: Promise<void>[] = [];
    for (let i = 1; i <= CLIENTS; i++) {
      const client = `203.0.113.${i}`;
      requests.set(client, []);
      for (const gateway of gateways)
        workers.push(hammer(client, gateway), hammer(client, gateway));
    }
    await Promise.all(workers);
    record.stop();
    agent.destroy();

    const logs = [...record.stampsByKey.values()];
    const all = [...requests.values()];
    const admittedOf = (list: readonly Recorded[]) =>
      list.filter(({ admitted }) => admitted).length;
    expect(logs).toHaveLength(CLIENTS);
    // Clients are pseudonyms in Redis, so a client's log is known by the number of its admissions and their times.
    expect(logs.map(({ length }) => length).sort()).toEqual(all.map(admittedOf).sort());
    for (const stamps of logs) {
      expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
      expect(fullestWindow(stamps, WINDOW_MS)).toBe(LIMIT);
    }
    for (const list of all) {
      const denials = list.length - admittedOf(list);
      expect(denials).toBeGreaterThan(admittedOf(list) / 2);
      const wrong = logs.map((stamps) => wrongDenials(list, stamps, LIMIT, WINDOW_MS));
      expect(Math.min(...wrong)).toBe(0);
    }
  });
});
