/**
 * A master of Redis is killed or cut off while requests are reserved and settled. What the new master has is consistent to the
 * unit, and differs from what clients were told by what the failover has lost.
 *
 * A log beside the token counter has an entry for each reservation that Redis has, and marks name the settlements.
 */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { listedKeyPartition } from '../../../src/gateway/core/identity/partition.ts';
import { waitUntil } from '../../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { lookAt } from '../../support/redis-node.ts';
import { startRedisSentinel, type TestRedisSentinel } from '../../support/redis-sentinel.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { stampOf } from '../exactness/judge.ts';
import { readToken } from './token.ts';

export type Fault = 'killed' | 'cut off';

export interface FailoverOptions {
  readonly fault: Fault;
  readonly gateways: number;
  readonly clients: number;
  /** Before the fault, and after it. */
  readonly trafficMs: number;
}

export interface FailoverRun {
  readonly reservations: number;
  readonly settlements: number;
  /** Reservations and settlements that clients saw, and the new master does not have. */
  readonly lostReservations: number;
  readonly lostSettlements: number;
  /** Reservations that the new master has, and no client saw. */
  readonly unseen: number;
  /** Units that the new master has less (or more) than what clients saw. */
  readonly difference: number;
  /** The part of the difference that the above does not explain. */
  readonly unexplained: number;
  readonly wrong: readonly string[];
}

const RESERVED = 50;
/** As long as windows are, so that none ends meanwhile. */
const WINDOW = '31d';
const WINDOW_MS = 31 * 86_400_000;
const AT_ONCE = 3;

interface Reserved {
  readonly text: string;
  readonly id: string;
  readonly momentMs: number;
  used: number;
  isSettled: boolean;
}

interface Client {
  readonly id: string;
  readonly partition: string;
  readonly seen: Reserved[];
}

export async function runFailover(options: FailoverOptions): Promise<FailoverRun> {
  await using stack = new AsyncDisposableStack();
  const sentinel = stack.use(await startRedisSentinel());
  const clients = Array.from({ length: options.clients }, (_, i) => ({
    ...{ id: `client-${i}`, partition: listedKeyPartition(`client-${i}`), seen: [] as Reserved[] },
  }));
  const policies = join(temporaryFolder(stack), 'policies.yaml');
  writeFileSync(policies, policyFile(clients));
  const env = {
    HEADGATE_REDIS_URL: sentinel.url,
    HEADGATE_POLICIES: policies,
    HEADGATE_STORE_TIMEOUT_MS: '400',
  };
  const gateways = await Promise.all(
    Array.from({ length: options.gateways }, async () => stack.use(await startGatewayProcess(env))),
  );
  let isOver = false;
  const working = clients.flatMap((client) =>
    Array.from({ length: AT_ONCE }, async () => {
      while (!isOver) {
        await reserveAndSettle(client, gateways);
        await sleep(Math.random() * 20);
      }
    }),
  );
  await sleep(options.trafficMs);
  await fail(sentinel, options.fault);
  const admitted = () => clients.reduce((sum, { seen }) => sum + seen.length, 0);
  const before = admitted();
  await waitUntil('requests are admitted', async () => admitted() > before + 10 * clients.length);
  await sleep(options.trafficMs);
  isOver = true;
  await Promise.all(working);
  await waitUntil('no settlement waits', async () => {
    const texts = await Promise.all(
      gateways.map(async ({ opsUrl }) => (await call(opsUrl, '/metrics')).body),
    );
    return texts.every((text) => /^headgate_settlements_waiting 0$/m.test(text));
  });
  const { master } = await sentinel.roles();
  const redis = stack.adopt(lookAt(master), (open) => open.disconnect());
  return await compare(clients, gateways, redis);
}

async function fail(sentinel: TestRedisSentinel, fault: Fault): Promise<void> {
  const { master, replica } = await sentinel.roles();
  if (fault === 'killed') master.signal('SIGKILL');
  else await sentinel.cutOff(master);
  const look = lookAt(replica);
  await waitUntil('the replica is master', async () => {
    const role = (await look.role().catch(() => [])) as unknown[];
    return role[0] === 'master';
  });
  look.disconnect();
}

function policyFile(clients: readonly Client[]): string {
  const keys = clients.map(({ id }) => ({ id, sha256: hash('sha256', `the key of ${id}`) }));
  const rate = (limit: number) => `${limit}/${WINDOW}`;
  const tokens = { unit: 'tokens', reserve: RESERVED, unknown: 80 };
  return JSON.stringify({
    version: 1,
    identity: { api_key: { keys } },
    default: {
      limits: [
        { rate: rate(1_000_000_000), algorithm: 'fixed-window', ...tokens },
        { rate: rate(800_000), algorithm: 'sliding-window-counter', ...tokens },
        rate(1_000_000),
      ],
      on_store_failure: 'deny',
    },
    policies: [],
  });
}

function any<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T;
}

async function reserveAndSettle(
  client: Client,
  gateways: readonly GatewayProcess[],
): Promise<void> {
  const headers = { 'x-api-key': `the key of ${client.id}` };
  const answer = await call(any(gateways).url, '/envoy/', { headers }).catch(() => undefined);
  const text = answer?.headers['x-headgate-settle'];
  if (text === undefined) return;
  const { id, parts } = readToken(String(text));
  const momentMs = parts[0]?.momentMs ?? 0;
  const used = Math.floor(Math.random() * 140);
  const reserved: Reserved = { text: String(text), id, momentMs, used, isSettled: false };
  client.seen.push(reserved);
  if (Math.random() < 0.1) return;
  const verdict = await settle(reserved, any(gateways));
  reserved.isSettled = ['settled', 'repeated', 'waiting'].includes(verdict);
}

async function settle({ text, used }: Reserved, { url }: GatewayProcess): Promise<string> {
  const { body } = await call(url, '/settle', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: text, units: { tokens: used } }),
  });
  return String((JSON.parse(body) as { result?: string }).result);
}

async function compare(
  clients: readonly Client[],
  gateways: readonly GatewayProcess[],
  redis: Redis,
): Promise<FailoverRun> {
  const sums = {
    reservations: 0,
    settlements: 0,
    lostReservations: 0,
    lostSettlements: 0,
    unseen: 0,
  };
  const wrong: string[] = [];
  let difference = 0;
  for (const { partition, seen } of clients) {
    const tag = `hg:v1:{${partition}}`;
    const settled = seen.filter(({ isSettled }) => isSettled);
    const lost = [];
    for (const each of settled) {
      if ((await redis.exists(`${tag}:settled:${each.id}`)) === 0) lost.push(each);
    }
    // A client that does not know may send its report again.
    for (const each of lost) {
      const verdict = await settle(each, any(gateways));
      if (verdict !== 'settled') wrong.push(`a lost settlement was answered ${verdict}`);
    }
    const entries = await redis.lrange(`${tag}:default:client.${WINDOW_MS}`, 0, -1);
    const inRedis = entries.map((entry) => stampOf(Number(entry), Date.now()));
    const unmatched = [...inRedis];
    const lostHere = seen.filter(({ momentMs }) => {
      const place = unmatched.indexOf(momentMs);
      if (place !== -1) unmatched.splice(place, 1);
      return place === -1;
    });
    const corrections = settled.reduce((sum, { used }) => sum + used - RESERVED, 0);
    const fixed = await redis.get(`${tag}:default:client.${WINDOW_MS}.fixed.tokens`);
    const counter = await redis.get(`${tag}:default:client.${WINDOW_MS}.counter.tokens`);
    const counts = [fixed, counter].map((value) => Number(value?.split(' ')[1]));
    const expected = RESERVED * inRedis.length + corrections;
    for (const count of counts) {
      if (count !== expected) wrong.push(`${partition} has ${count} units in place of ${expected}`);
    }
    const told = RESERVED * seen.length + corrections;
    difference += (counts[0] ?? Number.NaN) - told;
    sums.reservations += seen.length;
    sums.settlements += settled.length;
    sums.lostReservations += lostHere.length;
    sums.lostSettlements += lost.length;
    sums.unseen += unmatched.length;
  }
  const unexplained = difference - RESERVED * (sums.unseen - sums.lostReservations);
  if (unexplained !== 0) wrong.push(`counts differ by ${unexplained} units that no loss explains`);
  return { ...sums, difference, unexplained, wrong };
}
