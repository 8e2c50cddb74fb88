/** Invented keys as fast as this machine sends them. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { seriesIn } from '../../support/metrics.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import {
  type Answer,
  addKeys,
  addressOf,
  askAll,
  connect,
  count,
  type Found,
  keepAsking,
  keysOfFile,
  ms,
  names,
  startGateways,
  unmet,
  waitsOf,
} from './lab.ts';

export interface FloodOptions {
  /** Of each flood. */
  readonly seconds: number;
  /** The maximum time that a request waits for Redis. */
  readonly deadlineMs: number;
}

const CUSTOMERS = 100;
const PER_SECOND = 100;
/** Customers that the gateway has never seen, in each second. */
const NEW_PER_SECOND = 20;
const ADDRESSES = 20_000;

/** How many times as long others may wait as if no key was looked up. */
const MOST_TIMES = 3;
/** This machine does something else now and then. */
const NOISE_MS = 50;
/** Requests of a turn, with what does not fit into one call. */
const MOST_IN_A_CALL = 128;

interface Flood {
  readonly name: string;
  readonly kind: 'invented' | 'one' | undefined;
  readonly addresses: number;
  /** The keys of customers are in the policy file, so that no key is looked up: what a flood costs anyway. */
  readonly isCompared?: true;
}

const FLOODS: readonly Flood[] = [
  { name: 'none', kind: undefined, addresses: 1 },
  { name: 'one key, 20,000 addresses', kind: 'one', addresses: ADDRESSES },
  { name: 'invented, 1 address; keys in a file', kind: 'invented', addresses: 1, isCompared: true },
  { name: 'invented, 1 address', kind: 'invented', addresses: 1 },
  {
    ...{ name: 'invented, 20,000 addresses; keys in a file', kind: 'invented' },
    ...{ addresses: ADDRESSES, isCompared: true },
  },
  { name: 'invented, 20,000 addresses', kind: 'invented', addresses: ADDRESSES },
];

interface Measured {
  /** How long the flood took, from its start. */
  readonly seconds: number;
  readonly sent: number;
  readonly known: readonly Answer[];
  readonly fresh: readonly Answer[];
  readonly digests: number;
  readonly lookUps: number;
  readonly takes: number;
}

export async function runFloods(options: FloodOptions): Promise<Found> {
  const found: (readonly [Flood, Measured])[] = [];
  for (const flood of FLOODS) found.push([flood, await runFlood(flood, options)]);
  return {
    rows: found.map(([flood, each]) => rowOf(flood, each)),
    ...judge(found),
  };
}

/** With a Redis and a gateway of its own. */
async function runFlood(flood: Flood, { seconds, deadlineMs }: FloodOptions): Promise<Measured> {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startRedisServer());
  const admin = connect(lab, redis.url);
  const customers = names(CUSTOMERS, 'customer');
  const newcomers = names(Math.ceil(NEW_PER_SECOND * seconds * 2), 'new');
  const [gateway] = (await startGateways(lab, 1, {
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: String(deadlineMs),
    ...(flood.isCompared && { keys: keysOfFile([...customers, ...newcomers], 'pro') }),
  })) as [GatewayProcess];
  if (!flood.isCompared) {
    await addKeys(gateway, [...customers, ...newcomers, 'flooding-customer'], 'pro');
  }
  const warmUp = customers.map((id, i) => ({ id, address: addressOf(i) }));
  for (let i = 0; i < 20; i++) await askAll(gateway, warmUp);
  return await measure({ gateway, admin, flood, seconds, customers, newcomers });
}

interface Measuring {
  readonly gateway: GatewayProcess;
  readonly admin: Redis;
  readonly flood: Flood;
  readonly seconds: number;
  readonly customers: readonly string[];
  readonly newcomers: readonly string[];
}

async function measure(of: Measuring): Promise<Measured> {
  const { gateway, admin, flood, seconds, customers, newcomers } = of;
  const before = await workOf(gateway, admin);
  const startMs = performance.now();
  // A busy machine takes seconds to start a program.
  const stopFlood = flood.kind && (await startFlood(gateway, flood));
  const known = keepAsking(gateway, PER_SECOND, (i) => ({
    id: customers[i % CUSTOMERS] as string,
    address: addressOf(i % CUSTOMERS),
  }));
  const fresh = keepAsking(gateway, NEW_PER_SECOND, (i) => ({
    id: newcomers[i % newcomers.length] as string,
    address: addressOf(CUSTOMERS + i),
  }));
  await sleep(seconds * 1_000);
  const answers = { known: await known.stop(), fresh: await fresh.stop() };
  const sent = (await stopFlood?.()) ?? 0;
  const after = await workOf(gateway, admin);
  return {
    seconds: (performance.now() - startMs) / 1_000,
    sent,
    ...answers,
    digests: after.digests - before.digests,
    takes: after.takes - before.takes,
    lookUps: after.evals - before.evals - (after.takes - before.takes),
  };
}

/** Resolves once the flood flows, to what ends it and tells how many requests were answered. */
async function startFlood({ url }: GatewayProcess, { addresses, kind }: Flood) {
  const program = fileURLToPath(new URL('flood-process.ts', import.meta.url));
  const child = fork(program, [url, String(addresses), String(kind)], { execArgv: [] });
  await once(child, 'message');
  return async (): Promise<number> => {
    child.send('stop');
    const [answered] = await once(child, 'message');
    await once(child, 'exit');
    return Number(answered);
  };
}

/** GETRANGE is what a look-up calls for each digest; a call of a script is a take, a look-up, or housekeeping. */
async function workOf(gateway: GatewayProcess, admin: Redis) {
  const stats = await admin.info('commandstats');
  const callsOf = (name: string) =>
    Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  const { body } = await call(gateway.opsUrl, '/metrics');
  return {
    digests: callsOf('getrange'),
    evals: callsOf('evalsha') + callsOf('eval'),
    takes: seriesIn(body, 'headgate_store_batch_requests_count') ?? 0,
  };
}

function rowOf({ name }: Flood, measured: Measured) {
  const { seconds, sent, known, fresh, digests, lookUps, takes } = measured;
  const waits = waitsOf(known);
  return {
    flood: name,
    'requests/s': (sent / seconds).toFixed(0),
    'digests looked up': String(digests),
    'calls for them': String(lookUps),
    'calls to count': String(takes),
    'known: p50': ms(waits.p50),
    p99: ms(waits.p99),
    max: ms(waits.max),
    unlisted: `${count(known, isNot('pro'))} of ${known.length}`,
    'new: unlisted': `${count(fresh, isNot('pro'))} of ${fresh.length}`,
    'new: p99': ms(waitsOf(fresh).p99),
  };
}

const isNot =
  (wanted: Answer['seen']) =>
  ({ seen }: Answer) =>
    seen !== wanted;

function judge(found: readonly (readonly [Flood, Measured])[]) {
  const wrong: string[] = [];
  const late: string[] = [];
  for (const [i, [flood, measured]] of found.entries()) {
    const { name, kind, addresses, isCompared } = flood;
    const compared = found[i - 1]?.[0].isCompared && found[i - 1]?.[1];
    const { seconds, sent, known, fresh, digests, lookUps, takes } = measured;
    const others = known.length + fresh.length;
    // 60 look-ups of each address and one more each second, and those that were under way together.
    const mostDigests = addresses * (60 + 2 * seconds) + others + 64;
    const rules = unmet({
      'known customers keep their plan': count(known, isNot('pro')) === 0,
      'look-ups that find nothing are bounded by address': digests <= mostDigests,
      'no key of a file is looked up': !isCompared || digests === 0,
      'one call for the look-ups of a turn':
        lookUps <= takes + digests / MOST_IN_A_CALL + HOUSEKEEPING,
      'the flood was sent': kind === undefined || sent > 100,
    });
    wrong.push(...rules.map((rule) => `${name}: ${rule}`));
    const inTime = unmet({
      'new customers are found in time': count(fresh, isNot('pro')) <= fresh.length / 100,
      'known customers wait as if keys were in a file':
        !compared ||
        (waitsOf(known).p50 <= MOST_TIMES * waitsOf(compared.known).p50 &&
          waitsOf(known).p99 <= MOST_TIMES * waitsOf(compared.known).p99 + NOISE_MS),
    });
    late.push(...inTime.map((rule) => `${name}: ${rule}`));
  }
  return { wrong, late };
}

/** Calls of scripts for heartbeats, salts, overrides and changes. */
const HOUSEKEEPING = 100;
