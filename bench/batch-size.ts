/**
 * How many descriptors should one script call take? What each of them costs Redis, and for how long one call keeps
 * Redis from everyone else, by the size of the batch.
 *
 * The script by itself, without a gateway: 10,000 clients in turn, logs of 100 requests that are full, so that every
 * decision is an admission that trims.
 */
import { Redis } from 'ioredis';
import {
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
  TakeArguments,
} from '../src/gateway/stores/redis/take-script.ts';
import { printTable, spread } from '../tools/table.ts';
import { cpuMicrosOf } from './support/cpu.ts';
import { createLab, type RedisServer } from './support/lab.ts';
import { machineLine } from './support/machine.ts';

const SIZES = [1, 8, 32, 64, 128, 256, 512];
const ROUNDS = 7;
const DECISIONS_PER_ROUND = 60_000;
const CLIENTS = 1_000;
const WINDOW_MS = 60_000;
const QUOTA = {
  algorithm: 'sliding-window-log',
  limit: 1_000_000,
  windowMs: WINDOW_MS,
  burst: 1_000_000,
  countRejected: false,
} as const;

await using lab = createLab();
const redis = await lab.redis();
const client = new Redis(redis.url(0));
await client.script('LOAD', TAKE_SCRIPT);
// A request of each client every six hundred milliseconds: a hundred in a window, one of which is over by the next.
let nowMs = Date.now();
let next = 0;

async function take(size: number): Promise<void> {
  const call = new TakeArguments();
  for (let i = 0; i < size; i++) {
    next = (next + 1) % CLIENTS;
    if (next === 0) nowMs += WINDOW_MS / 100;
    const key = `hg:v1:{i.${String(next).padStart(22, '0')}}:default:client.${WINDOW_MS}`;
    call.add([{ key, quota: QUOTA, cost: 1 }]);
  }
  await client.evalsha(
    TAKE_SCRIPT_SHA,
    size,
    ...call.keys,
    ...call.values({ ownMs: nowMs, serverMs: nowMs }),
  );
}

async function scriptMicros({ client: observer }: RedisServer): Promise<number> {
  const stats = await observer.info('commandstats');
  return Number(/^cmdstat_evalsha:calls=\d+,usec=(\d+)/m.exec(stats)?.[1] ?? 0);
}

const cpu = new Map<number, number[]>(SIZES.map((size) => [size, []]));
const blocked = new Map<number, number[]>(SIZES.map((size) => [size, []]));
for (let filled = 0; filled < 110 * CLIENTS; filled += 64) await take(64);
for (let round = 0; round < ROUNDS; round++) {
  for (const size of SIZES) {
    const calls = Math.ceil(DECISIONS_PER_ROUND / size);
    const before = { cpu: cpuMicrosOf(redis.pid), script: await scriptMicros(redis) };
    for (let i = 0; i < calls; i++) await take(size);
    cpu.get(size)?.push((cpuMicrosOf(redis.pid) - before.cpu) / (calls * size));
    blocked.get(size)?.push(((await scriptMicros(redis)) - before.script) / calls / 1_000);
  }
}
client.disconnect();
console.log(`${machineLine()}; ${ROUNDS} rounds. Median (least to most).\n`);
printTable(
  SIZES.map((size) => ({
    descriptors: String(size),
    'Redis CPU us/decision': spread(cpu.get(size) ?? [], 2),
    'one call, ms': spread(blocked.get(size) ?? [], 3),
  })),
);
