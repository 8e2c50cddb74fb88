/**
 * What does a decision cost Redis, against one call of the classic ZSET script per request?
 *
 * The same clients, the same exact window, the same answers; the gateway asks about all requests of one turn of its
 * event loop in one call.
 */

import { printTable } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { figuresOf, interleave, timesThat } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const load = closedLoop({ clients: 10_000 });

await using lab = createLab();
const redis = await lab.redis();
const outcomes = await interleave(
  [
    { name: 'headgate', server: await lab.gateway(POLICIES, redis.url(0)), redis, load },
    {
      name: 'ZSET script',
      server: await lab.server('rivals/zset-server.ts', redis.url(1)),
      redis,
      load,
    },
  ],
  { rounds: 25 },
);
const [, zset] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    ...figuresOf(outcome),
    'Redis CPU, times ZSET': timesThat(outcome, zset, 'redisMicrosPerRequest'),
    'CPU, times ZSET': timesThat(outcome, zset, 'serverMicrosPerRequest'),
  })),
);
