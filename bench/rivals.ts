/**
 * How many requests does a second of CPU decide, in the gateway and Redis together, against the two limiters that
 * Node services mostly use?
 *
 * The same Redis, requests, route and header fields. Both rivals count a fixed window, one number per client, which is
 * less work than an exact window: up to twice the limit passes around its boundary.
 */

import { printTable, spread } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { all, figuresOf, interleave, timesThat } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const load = closedLoop({ clients: 10_000 });

await using lab = createLab();
const redis = await lab.redis();
const rival = (file: string, database: number) => lab.server(`rivals/${file}`, redis.url(database));
const outcomes = await interleave(
  [
    { name: 'headgate', server: await lab.gateway(POLICIES, redis.url(0)), redis, load },
    { name: '@fastify/rate-limit', server: await rival('fastify-rate-limit.ts', 1), redis, load },
    {
      name: 'rate-limiter-flexible',
      server: await rival('rate-limiter-flexible.ts', 2),
      redis,
      load,
    },
  ],
  { rounds: 20 },
);
const [headgate] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    ...figuresOf(outcome),
    'requests/CPU-second': spread(all(outcome, 'requestsPerCpuSecond'), 0),
    'headgate, times this': timesThat(headgate, outcome, 'requestsPerCpuSecond'),
  })),
);
