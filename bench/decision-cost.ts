/**
 * What does a decision cost the gateway, against an empty answer of the same Fastify?
 *
 * 10,000 clients and one limit that lets all of them pass; at last one client that is over its limit and keeps asking,
 * every answer to whom is a 429.
 */

import { printTable, spread } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { all, figuresOf, interleave, timesThat } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const everyone = { clients: 10_000 };

await using lab = createLab();
const redis = await lab.redis();
const outcomes = await interleave(
  [
    {
      name: 'empty 200 (route)',
      server: await lab.server('rivals/empty-route.ts'),
      load: everyone,
    },
    { name: 'empty 200 (hook)', server: await lab.server('rivals/empty-hook.ts'), load: everyone },
    { name: 'memory', server: await lab.gateway(ROOMY), load: everyone },
    { name: 'Redis', server: await lab.gateway(ROOMY, redis.url(0)), redis, load: everyone },
    {
      name: 'Redis, one blocked client',
      server: await lab.gateway(TIGHT, redis.url(1)),
      redis,
      load: { clients: 1, expects: 'deny' },
    },
  ],
  { rounds: 12 },
);
const [route, hook] = outcomes;
printTable(
  outcomes.map((outcome) => ({
    ...figuresOf(outcome),
    'CPU, times the route': timesThat(outcome, route, 'serverMicrosPerRequest'),
    'CPU, times the hook': timesThat(outcome, hook, 'serverMicrosPerRequest'),
    'script calls/s': outcome.usesRedis ? spread(all(outcome, 'scriptCallsPerSecond'), 0) : '',
  })),
);
