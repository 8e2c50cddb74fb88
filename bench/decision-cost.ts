/**
 * What does a decision cost, against an empty answer and against other limiters?
 *
 * A closed loop with 64 requests at a time, without a proxy. HTTP is compared with HTTP, gRPC with gRPC. 10,000 clients
 * and one limit that admits all of them; or one client that is over its limit and keeps asking.
 */
import { cost, latency, memory, printOutcomes, throughput, times } from './support/columns.ts';
import { type GrpcLoad, grpcLoad } from './support/grpc-load.ts';
import { createLab, type StartGateway } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { printTables } from './support/options.ts';
import { grpcPeers, httpPeers } from './support/peers.ts';
import { type Contestant, interleave } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const CLIENTS = 10_000;
const NOTHING = 'nothing';
const EXACT = 'an exact sliding window';
const FIXED = 'a fixed window';
const rulesOf = (requests: number) => ({
  'bench.yaml': `domain: bench
descriptors: [{ key: remote_address, rate_limit: { unit: hour, requests_per_unit: ${requests} } }]
`,
});

interface Entry extends Contestant {
  readonly counts: string;
}

await using lab = createLab();

await printTables({
  http: async () => print(await overHttp(), 'HTTP: empty server, Fastify'),
  grpc: async () =>
    print(await overGrpc({ connections: 2, streams: 32 }), 'gRPC: empty server, node:http2'),
  'grpc-64x1': async () =>
    print(await overGrpc({ connections: 64, streams: 1 }), 'gRPC: empty server, node:http2'),
});

async function overHttp(): Promise<Entry[]> {
  const { redis, on } = await store();
  const load = closedLoop({ clients: CLIENTS });
  const oneDenied = closedLoop({ clients: 1, expects: 'deny' });
  const server = (file: string, url?: string) => () =>
    lab.server(`rivals/${file}`, ...(url === undefined ? [] : [url]));
  const rival = (file: string) => server(file, redis.url(15 - rivals++));
  let rivals = 0;
  return [
    {
      name: 'HTTP: empty server, node:http',
      counts: NOTHING,
      start: server('empty-http.ts'),
      load,
    },
    { name: 'HTTP: empty server, Fastify', counts: NOTHING, start: server('empty-hook.ts'), load },
    ...lab.variants.flatMap(({ name, gateway }): Entry[] => {
      const own = { counts: EXACT, load };
      return [
        { ...own, name: `HTTP: ${name}, memory`, start: () => gateway(ROOMY) },
        { ...own, name: `HTTP: ${name}, Redis`, start: on(gateway, ROOMY), redis },
        {
          ...own,
          name: `HTTP: ${name}, one denied`,
          start: on(gateway, TIGHT),
          redis,
          load: oneDenied,
        },
      ];
    }),
    {
      name: 'HTTP: ZSET script, Redis',
      counts: EXACT,
      start: rival('zset-server.ts'),
      redis,
      load,
    },
    {
      name: 'HTTP: @fastify/rate-limit, Redis',
      counts: FIXED,
      start: rival('fastify-rate-limit.ts'),
      redis,
      load,
    },
    {
      name: 'HTTP: rate-limiter-flexible, Redis',
      counts: FIXED,
      start: rival('rate-limiter-flexible.ts'),
      redis,
      load,
    },
    ...httpPeers(lab, CLIENTS),
  ];
}

async function overGrpc(at: Pick<GrpcLoad, 'connections' | 'streams'>): Promise<Entry[]> {
  const { redis, on } = await store();
  const load = grpcLoad({ ...at, clients: CLIENTS });
  const rateLimit = { ...at, service: 'rateLimit' } as const;
  const calls = grpcLoad({ ...rateLimit, clients: CLIENTS });
  const denied = { ...at, clients: 1, expects: 'deny' } as const;
  const settings = { HEADGATE_RATELIMIT_CONFIG: lab.folder(rulesOf(1_000_000)) };
  const tight = { HEADGATE_RATELIMIT_CONFIG: lab.folder(rulesOf(1)) };
  return [
    {
      name: 'gRPC: empty server, node:http2',
      counts: NOTHING,
      start: () => lab.server('rivals/empty-http2.ts'),
      load,
    },
    ...lab.variants.flatMap(({ name, gateway }): Entry[] => {
      const own = { counts: EXACT, redis };
      const [inMemory, roomy] = [() => gateway(ROOMY), on(gateway, ROOMY, settings)];
      const full = on(gateway, TIGHT, tight);
      return [
        { counts: EXACT, name: `gRPC: ${name}, memory`, start: inMemory, load },
        { ...own, name: `gRPC: ${name}, Redis`, start: roomy, load },
        { ...own, name: `gRPC: ${name}, one denied`, start: full, load: grpcLoad(denied) },
        { ...own, name: `gRPC: ${name}, rate limit service`, start: roomy, load: calls },
        {
          ...own,
          name: `gRPC: ${name}, rate limit service, one denied`,
          start: full,
          load: grpcLoad({ ...rateLimit, ...denied }),
        },
      ];
    }),
    ...(await grpcPeers(lab, calls)),
  ];
}

/** A Redis, and how to start gateways on it, each with a database of its own. */
async function store() {
  const redis = await lab.redis();
  let databases = 0;
  const on = (gateway: StartGateway, policies: string, settings?: NodeJS.ProcessEnv) => {
    const url = redis.url(databases++);
    return () => gateway(policies, url, settings);
  };
  return { redis, on };
}

async function print(entries: readonly Entry[], emptyName: string): Promise<void> {
  const outcomes = await interleave(entries, { rounds: 4, loadIs: '64 requests at a time' });
  const empty = outcomes.find(({ name }) => name === emptyName);
  const counts = new Map(entries.map((entry) => [entry.name, entry.counts]));
  printOutcomes(
    outcomes,
    ({ name }) => ({ counts: counts.get(name) ?? '' }),
    cost,
    times('all CPU, times empty', empty, 'totalMicrosPerRequest'),
    latency,
    memory,
    times('RSS, times empty', empty, 'residentMib'),
    throughput,
  );
}
