/** What does a decision cost, against an empty answer and against other limiters? */
import { printTable, spread } from '../tools/table.ts';
import {
  HOW_TO_INSTALL,
  installedEnvoyRatelimit,
  startEnvoyRatelimit,
} from './support/envoy-ratelimit.ts';
import { grpcClosedLoop } from './support/grpc-load.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { all, type Contestant, interleave, timesThat } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const CLIENTS = 10_000;
const NOTHING = 'nothing';
const EXACT = 'an exact sliding window';
const FIXED = 'a fixed window';

interface Entry extends Contestant {
  readonly over: 'HTTP' | 'gRPC';
  readonly counts: typeof NOTHING | typeof EXACT | typeof FIXED;
}

await using lab = createLab();
const redis = await lab.redis();
// envoyproxy/ratelimit uses no other database than the first.
const otherRedis = await lab.redis();
const rival = (file: string, database: number) => lab.server(`rivals/${file}`, redis.url(database));
const onRedis = await lab.gateway(ROOMY, redis.url(0));
const program = installedEnvoyRatelimit();
const ratelimit =
  program === undefined ? undefined : await startEnvoyRatelimit(lab, otherRedis, { program });

const http = { over: 'HTTP', load: closedLoop({ clients: CLIENTS }) } as const;
const grpc = { over: 'gRPC', load: grpcClosedLoop({ clients: CLIENTS }) } as const;
const entries: Entry[] = [
  {
    ...http,
    name: 'empty server, node:http',
    counts: NOTHING,
    server: await lab.server('rivals/empty-http.ts'),
  },
  {
    ...http,
    name: 'empty server, Fastify',
    counts: NOTHING,
    server: await lab.server('rivals/empty-hook.ts'),
  },
  { ...http, name: '**headgate**, memory', counts: EXACT, server: await lab.gateway(ROOMY) },
  { ...http, name: '**headgate**, Redis', counts: EXACT, server: onRedis, redis },
  {
    over: 'HTTP',
    name: '**headgate**, Redis, one denied client',
    counts: EXACT,
    server: await lab.gateway(TIGHT, redis.url(1)),
    redis,
    load: closedLoop({ clients: 1, expects: 'deny' }),
  },
  {
    ...http,
    name: 'ZSET script in Fastify, Redis',
    counts: EXACT,
    server: await rival('zset-server.ts', 2),
    redis,
  },
  {
    ...http,
    name: '@fastify/rate-limit, Redis',
    counts: FIXED,
    server: await rival('fastify-rate-limit.ts', 3),
    redis,
  },
  {
    ...http,
    name: 'rate-limiter-flexible, Redis',
    counts: FIXED,
    server: await rival('rate-limiter-flexible.ts', 4),
    redis,
  },
  {
    ...grpc,
    name: 'empty server, node:http2',
    counts: NOTHING,
    server: await lab.server('rivals/empty-http2.ts'),
  },
  { ...grpc, name: '**headgate**, Redis', counts: EXACT, server: onRedis, redis },
];
if (ratelimit === undefined) {
  console.log(`Without envoyproxy/ratelimit. To include it: ${HOW_TO_INSTALL}.\n`);
} else {
  entries.push({
    over: 'gRPC',
    name: 'envoyproxy/ratelimit, Redis',
    counts: FIXED,
    server: ratelimit,
    redis: otherRedis,
    load: grpcClosedLoop({ clients: CLIENTS, service: 'rateLimit' }),
  });
}

const outcomes = await interleave(entries, { rounds: 10, loadIs: '64 requests at a time' });
// Without a limit for the requests it would admit them all, too.
if (ratelimit !== undefined && (await otherRedis.client.dbsize()) < CLIENTS / 2) {
  throw new Error('envoyproxy/ratelimit did not count');
}
printTable(
  outcomes.flatMap((outcome, i) => {
    const entry = entries[i];
    const empty = outcomes[entries.findIndex(({ over }) => over === entry?.over)];
    if (entry === undefined || empty === undefined) return [];
    return {
      server: entry.name,
      over: entry.over,
      counts: entry.counts,
      'CPU us/decision, with Redis': spread(all(outcome, 'totalMicrosPerRequest')),
      'times the empty server': timesThat(outcome, empty, 'totalMicrosPerRequest'),
    };
  }),
);
