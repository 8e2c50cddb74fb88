/**
 * How long does a request wait at half of what the gateway can do, with 0, 1 and 5 ms added to the way to Redis, and
 * what does asking about many requests in one call add to that?
 *
 * Open loop: requests come at a fixed rate, and latency counts from the moment that each was meant for. The driver, the
 * proxy that delays, the gateway and Redis share the cores of this machine, and disturb each other.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { printTable, spread } from '../tools/table.ts';
import { createLab, type Server } from './support/lab.ts';
import type { LatencyOptions, LatencyResult } from './support/latency-driver.ts';
import { applyLoad } from './support/load.ts';
import { machineLine } from './support/machine.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const CLIENTS = 10_000;
const ROUNDS = 6;
const SECONDS = 1;
const DEFAULT_STORE_TIMEOUT_MS = 50;

interface Contestant {
  readonly name: string;
  readonly server: Server;
  readonly requestsPerSecond: number;
}

const driver = fileURLToPath(new URL('support/latency-driver.ts', import.meta.url));

async function drive({ server, requestsPerSecond }: Contestant): Promise<LatencyResult> {
  const options: LatencyOptions = {
    url: server.url,
    requestsPerSecond,
    seconds: SECONDS,
    clients: CLIENTS,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [driver, JSON.stringify(options)]);
  return JSON.parse(stdout);
}

async function halfOfCapacity({ url }: Server): Promise<number> {
  await applyLoad({ url, clients: CLIENTS }, 1);
  const { requestsPerSecond } = await applyLoad({ url, clients: CLIENTS }, SECONDS);
  return Math.round(requestsPerSecond / 2);
}

await using lab = createLab();
const redis = await lab.redis();
const startGateway = (redisUrl: string) =>
  lab.gateway(POLICIES, redisUrl, DEFAULT_STORE_TIMEOUT_MS);
const startDelayed = async (addedMs: number) => {
  const proxy = await lab.server('support/delay-proxy.ts', String(redis.port), String(addedMs));
  return startGateway(`redis://127.0.0.1:${new URL(proxy.url).port}/0`);
};

const direct = await startGateway(redis.url(0));
const zset = await lab.server('rivals/zset-server.ts', redis.url(1));
const empty = await lab.server('rivals/empty-hook.ts');
// Beyond what it can do the other's queue would be measured, not its way.
const halfOfSlower = Math.min(await halfOfCapacity(direct), await halfOfCapacity(zset));

const delayed: Contestant[] = [];
for (const addedMs of [0, 1, 5]) {
  const server = await startDelayed(addedMs);
  // What the delaying proxy costs this machine is part of what it can do.
  const requestsPerSecond = delayed[0]?.requestsPerSecond ?? (await halfOfCapacity(server));
  delayed.push({ name: `headgate, ${addedMs} ms added`, server, requestsPerSecond });
}
const compared: Contestant[] = [
  { name: 'empty 200 (hook)', server: empty, requestsPerSecond: halfOfSlower },
  { name: 'ZSET script, one call each', server: zset, requestsPerSecond: halfOfSlower },
  { name: 'headgate, calls shared', server: direct, requestsPerSecond: halfOfSlower },
];

const contestants = [...delayed, ...compared];
const results = new Map(contestants.map((contestant) => [contestant, [] as LatencyResult[]]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const contestant of contestants) {
    const result = await drive(contestant);
    // The first round warms up.
    if (round > 0) results.get(contestant)?.push(result);
  }
}

function printResults(group: readonly Contestant[]): void {
  console.log(`\n${group[0]?.requestsPerSecond} requests/s, milliseconds:\n`);
  printTable(
    group.map((contestant) => {
      const rounds = results.get(contestant) ?? [];
      const column = (name: keyof LatencyResult) => rounds.map((round) => round[name]);
      const sum = (name: keyof LatencyResult) => column(name).reduce((a, b) => a + b, 0);
      return {
        server: contestant.name,
        p50: spread(column('p50Ms'), 2),
        p90: spread(column('p90Ms'), 2),
        p99: spread(column('p99Ms'), 2),
        max: Math.max(...column('maxMs')).toFixed(1),
        errors: String(sum('errors')),
        'not measured': String(sum('unmeasured')),
      };
    }),
  );
}

console.log(`${machineLine()}; ${ROUNDS} rounds of ${SECONDS} s. Median (least to most).`);
printResults(delayed);
printResults(compared);
