/**
 * What do more limits, more keys and more policies cost?
 *
 * `limits`: three on a request in place of one. `keys`: 1,000,000 active ones in place of 1,000; every client is counted
 * once before the rounds, and the load sends requests of clients from the whole range. `policies`: 10,000 in place of 10,
 * each with its own path, which the load requests in turn; counted in memory, where matching is the largest share.
 */
import { byRow, calls, cost, memory, printOutcomes, times } from './support/columns.ts';
import { fill } from './support/fill.ts';
import { createLab, type Server, type Variant } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { printTables } from './support/options.ts';
import { type Contestant, interleave, type RoundOptions } from './support/rounds.ts';

const ONE = '{ version: 1, default: { limits: [1000000/1h] } }';
const THREE = '{ version: 1, default: { limits: [1000000/1h, 900000/30min, 800000/10min] } }';
const CLIENTS = 10_000;
const [FEW_KEYS, MANY_KEYS] = [1_000, 1_000_000];
/** A million clients are counted for half a minute before each process is measured, so there are fewer processes and turns. */
const SHORT: RoundOptions = { processes: 2, rounds: 3 };
const [FEW_POLICIES, MANY_POLICIES] = [10, 10_000];

/** The row with less, and the row that is compared with it. */
type Pair = readonly [less: Contestant, more: Contestant];

await using lab = createLab();

await printTables({
  limits: async () => print(await Promise.all(lab.variants.map(limits))),
  keys: async () => {
    const inRedis = await Promise.all(lab.variants.map(keysInRedis));
    await print([...lab.variants.map(keysInMemory), ...inRedis], SHORT);
  },
  policies: () => print(lab.variants.map(policies), SHORT),
});

async function limits({ name, gateway }: Variant): Promise<Pair> {
  const redis = await lab.redis();
  const load = closedLoop({ clients: CLIENTS });
  return [
    { name: `${name}, one limit`, start: () => gateway(ONE, redis.url(0)), redis, load },
    { name: `${name}, three limits`, start: () => gateway(THREE, redis.url(1)), redis, load },
  ];
}

function keysInMemory({ name, gateway }: Variant): Pair {
  const contestant = (clients: number): Contestant => ({
    name: `${name}, memory, ${clients.toLocaleString('en')} keys`,
    start: async () => filled(await gateway(ONE), clients),
    load: closedLoop({ clients }),
  });
  return [contestant(FEW_KEYS), contestant(MANY_KEYS)];
}

async function keysInRedis({ name, gateway }: Variant): Promise<Pair> {
  const contestant = async (clients: number): Promise<Contestant> => {
    // A server for each: the keys of one must not be in the way of the other.
    const redis = await lab.redis();
    return {
      name: `${name}, Redis, ${clients.toLocaleString('en')} keys`,
      start: async () => filled(await gateway(ONE, redis.url()), clients),
      redis,
      load: closedLoop({ clients }),
    };
  };
  return [await contestant(FEW_KEYS), await contestant(MANY_KEYS)];
}

async function filled(server: Server, clients: number): Promise<Server> {
  await fill({ url: server.url, requests: clients, clients });
  return server;
}

function policies({ name, gateway }: Variant): Pair {
  const contestant = (count: number): Contestant => ({
    name: `${name}, ${count.toLocaleString('en')} policies`,
    start: () => gateway(policyFile(count)),
    load: closedLoop({ clients: CLIENTS, paths: count }),
  });
  return [contestant(FEW_POLICIES), contestant(MANY_POLICIES)];
}

function policyFile(count: number): string {
  const lines = Array.from({ length: count }, (_, i) => {
    const path = `/p/${String(i).padStart(5, '0')}`;
    return `- {name: p${i},match: {path: ${path}},limits: [1000000/1h]}\n`;
  });
  return `version: 1\ndefault: {limits: [1/1d]}\npolicies:\n${lines.join('')}`;
}

async function print(pairs: readonly Pair[], options: RoundOptions = {}): Promise<void> {
  const outcomes = await interleave(pairs.flat(), options);
  // Outcomes are in the order of the contestants: each pair begins at an even place.
  const less = byRow((outcome) => {
    const base = outcomes[outcomes.indexOf(outcome) & ~1];
    return (each) => ({
      ...times('CPU, times less', base, 'serverMicrosPerRequest')(each),
      ...(each.usesRedis
        ? times('Redis CPU, times less', base, 'redisMicrosPerRequest')(each)
        : { 'Redis CPU, times less': '' }),
    });
  });
  printOutcomes(outcomes, cost, less, calls, memory);
}
