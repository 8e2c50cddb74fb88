/** What do three limits on a request cost, against one? */

import { printTable } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { figuresOf, interleave, timesThat } from './support/rounds.ts';

const ONE = '{ version: 1, default: { limits: [1000000/1h] } }';
const THREE = '{ version: 1, default: { limits: [1000000/1h, 900000/30min, 800000/10min] } }';
const load = closedLoop({ clients: 10_000 });

await using lab = createLab();
const redis = await lab.redis();
const outcomes = await interleave(
  [
    { name: 'one limit', server: await lab.gateway(ONE, redis.url(0)), redis, load },
    { name: 'three limits', server: await lab.gateway(THREE, redis.url(1)), redis, load },
  ],
  { rounds: 25 },
);
const [one] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    ...figuresOf(outcome),
    'Redis CPU, times one': timesThat(outcome, one, 'redisMicrosPerRequest'),
    'CPU, times one': timesThat(outcome, one, 'serverMicrosPerRequest'),
  })),
);
