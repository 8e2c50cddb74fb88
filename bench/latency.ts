/**
 * How long does a request wait, without a proxy?
 *
 * Requests come at a fixed rate. `lone`: 500 a second, so that each is alone. `half`: half of what the gateway can do.
 * `distance`: the same with 0, 1 and 5 ms added to the way to Redis, by a proxy that delays.
 *
 * The driver, the gateway and Redis share the cores of this machine, and disturb each other.
 */
import {
  cost,
  costWithoutIdle,
  late,
  latency,
  memory,
  printOutcomes,
  timesMedian,
  unmeasured,
} from './support/columns.ts';
import { grpcLoad } from './support/grpc-load.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { openLoop } from './support/open-loop.ts';
import { OPTIONS, printTables } from './support/options.ts';
import { type Contestant, interleave } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const CLIENTS = 10_000;
const LONE_PER_SECOND = 500;
const SHIPPED = { HEADGATE_STORE_TIMEOUT_MS: '50' };
const EMPTY = 'HTTP: empty server, Fastify';

await using lab = createLab();
const redis = await lab.redis();

await printTables({
  lone: () => atRate(OPTIONS.rate ?? LONE_PER_SECOND),
  half: async () => atRate(OPTIONS.rate ?? (await halfOfCapacity(redis.url(3)))),
  distance,
});

async function atRate(requestsPerSecond: number): Promise<void> {
  const load = openLoop({ requestsPerSecond, clients: CLIENTS });
  const grpc = grpcLoad({ requestsPerSecond, clients: CLIENTS });
  const contestants: Contestant[] = [
    { name: EMPTY, start: () => lab.server('rivals/empty-hook.ts'), load },
    {
      name: 'gRPC: empty server, node:http2',
      start: () => lab.server('rivals/empty-http2.ts'),
      load: grpc,
    },
    ...lab.variants.flatMap(({ name, gateway }): Contestant[] => {
      const start = () => gateway(POLICIES, redis.url(0), SHIPPED);
      return [
        { name: `HTTP: ${name}, Redis`, start, redis, load },
        { name: `gRPC: ${name}, Redis`, start, redis, load: grpc },
      ];
    }),
    {
      name: 'HTTP: ZSET script, Redis',
      start: () => lab.server('rivals/zset-server.ts', redis.url(1)),
      redis,
      load,
    },
  ];
  await print(contestants, requestsPerSecond);
}

async function distance(): Promise<void> {
  const requestsPerSecond = OPTIONS.rate ?? (await halfOfCapacity(await delayed(0)));
  const load = openLoop({ requestsPerSecond, clients: CLIENTS });
  const contestants = [0, 1, 5].map((addedMs) => ({
    name: `headgate, ${addedMs} ms added`,
    start: async () => lab.gateway(POLICIES, await delayed(addedMs), SHIPPED),
    redis,
    load,
  }));
  await print(contestants, requestsPerSecond);
}

/** The URL of Redis behind a proxy that delays. */
async function delayed(addedMs: number): Promise<string> {
  const proxy = await lab.server('support/delay-proxy.ts', String(redis.port), String(addedMs));
  return `redis://127.0.0.1:${proxy.port}/2`;
}

async function halfOfCapacity(redisUrl: string): Promise<number> {
  const gateway = await lab.gateway(POLICIES, redisUrl, SHIPPED);
  const load = closedLoop({ clients: CLIENTS });
  await load(gateway, 1);
  const { requestsPerSecond } = await load(gateway, 1);
  await gateway.stop();
  return Math.round(requestsPerSecond / 2);
}

async function print(contestants: readonly Contestant[], perSecond: number): Promise<void> {
  const outcomes = await interleave(contestants, {
    rounds: 2,
    seconds: 2,
    loadIs: `${Math.round(perSecond)} requests/s`,
  });
  const empty = outcomes.find(({ name }) => name === EMPTY);
  printOutcomes(
    outcomes,
    latency,
    timesMedian('p99, times empty Fastify', empty, 'p99Ms'),
    late,
    unmeasured,
    cost,
    costWithoutIdle,
    memory,
  );
}
