/**
 * Loses replies after Redis has counted. Each request counts under its own key, so a key with two entries is a request that
 * was counted twice. Once with the store alone, as fast as its client reconnects, and once with gateways.
 */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { parseRedisUrl } from '../../../src/gateway/config/settings/redis-url.ts';
import { StoreError } from '../../../src/gateway/core/counting/store.ts';
import { createRedisClient } from '../../../src/gateway/stores/redis/client.ts';
import {
  type CountingConnection,
  overIoredis,
} from '../../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../../src/gateway/stores/redis/redis-store.ts';
import { openCountingConnection } from '../../../src/gateway/stores/redis/resp/resp-client.ts';
import { TAKE_SCRIPT } from '../../../src/gateway/stores/redis/take-script.ts';
import { headerOf, startLoad } from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { quotaOf } from '../../support/quotas.ts';
import { type RedisServer, startRedisServer } from '../../support/redis-server.ts';
import { type Connected, WAYS, type Way } from '../../support/stores.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

export interface LossRun {
  readonly requests: number;
  /** Requests that Redis counted without a reply to the client. */
  readonly lost: number;
  /** Requests that Redis counted, by the keys that it holds. */
  readonly counted: number;
  readonly countedTwice: number;
  /** Expectations that were not met. */
  readonly wrong: readonly string[];
}

/** How many clients lose replies at once. */
const CLIENTS = 64;
const DEADLINE_MS = 10_000;
/** The share of lost replies, also to commands that ioredis sends again. */
const SHARE_OF_RESENDERS = 0.5;
const QUOTA = quotaOf({ limit: 1_000, windowMs: 3_600_000 });

/** Loses every reply of the script with its connection, so many times. The client is the one of the gateway. */
export async function runLostReplies(losses: number, way: Way = WAYS[0]): Promise<LossRun> {
  await using redis = await startRedisServer();
  await using proxy = await startTcpProxy(redis.port);
  proxy.apply({ replyEnds: { how: 'any', share: 1, to: 'evalsha' } });
  await teachScript(redis);
  const target = parseRedisUrl(`redis://127.0.0.1:${proxy.port}`);
  const options = { target, deadlineMs: DEADLINE_MS, onError: () => {} };
  const open = () => {
    const client = createRedisClient(options);
    const connection =
      way === 'ioredis' ? overIoredis(client) : openCountingConnection({ ...options, client });
    return { client, connection };
  };
  const reasons = await loseReplies(losses, open);
  const { counted, countedTwice, calls } = await whatRedisHolds(redis);
  const connection = reasons.get('connection') ?? 0;
  const wrong = violations({
    'every reply is lost': proxy.endedReplies === losses,
    'every loss is noticed at once, as a broken connection': connection === losses,
    'Redis counts every request': counted === losses,
    'Redis gets no request twice': calls === losses,
    'no request is counted twice': countedTwice === 0,
  });
  return { requests: losses, lost: proxy.endedReplies, counted, countedTwice, wrong };
}

/** The same with the defaults of ioredis, which sends commands again: the double counts show. */
export async function runLostRepliesThatAreSentAgain(requests: number): Promise<LossRun> {
  await using redis = await startRedisServer();
  await using proxy = await startTcpProxy(redis.port);
  proxy.apply({ replyEnds: { how: 'any', share: SHARE_OF_RESENDERS, to: 'evalsha' } });
  await teachScript(redis);
  const open = () => {
    const options = { maxRetriesPerRequest: null, retryStrategy: () => 10 };
    const client = new Redis(proxy.port, options).on('error', () => {});
    return { client, connection: overIoredis(client) };
  };
  await loseReplies(requests, open);
  const { counted, countedTwice } = await whatRedisHolds(redis);
  const wrong = violations({ 'a client that sends again counts twice': countedTwice > 0 });
  return { requests, lost: proxy.endedReplies, counted, countedTwice, wrong };
}

async function teachScript({ url }: RedisServer): Promise<void> {
  const redis = new Redis(url);
  await redis.script('LOAD', TAKE_SCRIPT);
  redis.disconnect();
}

/** Sends one request after another on each of many connections. Resolves to the number of failures by reason. */
async function loseReplies(
  requests: number,
  open: () => Pick<Connected, 'client' | 'connection'>,
): Promise<ReadonlyMap<string, number>> {
  const reasons = new Map<string, number>();
  let next = 0;
  const work = async () => {
    const { client, connection } = open();
    const inFlight = createInFlight(CLIENTS);
    const store = new RedisStore({ connection, inFlight, deadlineMs: DEADLINE_MS });
    while (next < requests) {
      const key = `hg:v1:{${next++}}:lost`;
      await ready(connection);
      const reason = await store.take([{ key, quota: QUOTA, cost: 1 }]).then(
        () => 'answered',
        (error: unknown) => (error instanceof StoreError ? error.reason : String(error)),
      );
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    connection.disconnect();
    client.disconnect();
  };
  await Promise.all(Array.from({ length: Math.min(CLIENTS, requests) }, work));
  return reasons;
}

async function ready(connection: CountingConnection): Promise<void> {
  if (connection.status === 'ready') return;
  await new Promise<void>((resolve) => connection.once('ready', resolve));
}

export interface GatewayLossOptions {
  readonly gateways: number;
  readonly perSecond: number;
  /** The minimum number of lost replies. */
  readonly losses: number;
  readonly withinMs: number;
}

/** Gateway processes under load, whose connections lose every other reply. */
export async function runGatewaysThatLoseReplies(options: GatewayLossOptions): Promise<LossRun> {
  await using cleanUp = new AsyncDisposableStack();
  const redis = cleanUp.use(await startRedisServer());
  const proxy = cleanUp.use(await startTcpProxy(redis.port));
  const gateways = await startGateways(options.gateways, proxy, cleanUp);
  const tally = { sent: 0, measured: 0, otherwise: 0 };
  proxy.apply({ replyEnds: { how: 'any', share: 0.5, to: 'evalsha' } });
  const loads = gateways.map(({ url }, g) =>
    startLoad({
      url,
      perSecond: options.perSecond,
      patienceMs: 4 * DEADLINE_MS,
      request: (i) => ({ path: '/envoy/', headers: { 'x-request': `${g}-${i}` } }),
      onOutcome: (outcome) => {
        const mode = headerOf(outcome, 'x-ratelimit-mode');
        tally.sent++;
        if (outcome.status === 200 && mode === undefined) tally.measured++;
        else if (outcome.status !== 200 || mode !== 'open') tally.otherwise++;
      },
    }),
  );
  const lostSoFar = async () => (await whatRedisHolds(redis)).counted - tally.measured;
  for (const endMs = Date.now() + options.withinMs; Date.now() < endMs; await sleep(500)) {
    if ((await lostSoFar()) > options.losses) break;
  }
  await Promise.all(loads.map((load) => load.stop()));
  // Requests that a client gave up may still arrive in Redis.
  await sleep(200);
  const { counted, countedTwice } = await whatRedisHolds(redis);
  const lost = counted - tally.measured;
  const wrong = violations({
    'every request is answered, counted or open': tally.otherwise === 0,
    'enough replies are lost': lost >= options.losses,
    'no more are counted than were sent': counted <= tally.sent,
    'no request is counted twice': countedTwice === 0,
  });
  return { requests: tally.sent, lost, counted, countedTwice, wrong };
}

async function startGateways(
  count: number,
  proxy: TcpProxy,
  cleanUp: AsyncDisposableStack,
): Promise<readonly GatewayProcess[]> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-lost-replies-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const policies = join(folder, 'policies.yaml');
  const identity = { verified_headers: ['x-request'] };
  const limits = [{ rate: '1000/1h', per: 'header:x-request' }];
  writeFileSync(policies, JSON.stringify({ version: 1, identity, default: { limits } }));
  const env = {
    HEADGATE_REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
    HEADGATE_POLICIES: policies,
    // This is about lost replies, not late ones.
    HEADGATE_STORE_TIMEOUT_MS: String(DEADLINE_MS),
  };
  const starting = Array.from({ length: count }, () => startGatewayProcess(env));
  return (await Promise.all(starting)).map((gateway) => cleanUp.use(gateway));
}

/** Reads from Redis, without the proxy: the number of logs, those with more than one entry, and script calls. */
async function whatRedisHolds({ url }: RedisServer) {
  const redis = new Redis(url);
  const logs: string[] = [];
  for await (const keys of redis.scanStream({ match: 'hg:v1:*{*', type: 'list', count: 5_000 })) {
    logs.push(...(keys as string[]));
  }
  const pipeline = redis.pipeline();
  for (const key of new Set(logs)) pipeline.llen(key);
  const lengths = ((await pipeline.exec()) ?? []).map(([, length]) => Number(length));
  const stats = await redis.info('commandstats');
  redis.disconnect();
  return {
    counted: lengths.length,
    countedTwice: lengths.filter((length) => length !== 1).length,
    calls: Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0),
  };
}

function violations(must: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(must).filter((rule) => !must[rule]);
}
