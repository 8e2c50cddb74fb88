/**
 * What does a decision cost, against an empty answer?
 *
 * 10,000 clients and one limit that admits all of them; then one client that is over its limit and keeps asking, so that
 * every answer is a 429.
 */
import { printTable, spread } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { all, interleave, type Outcome, timesThat } from './support/rounds.ts';

const ROOMY = '{ version: 1, default: { limits: [1000000/1h] } }';
const TIGHT = '{ version: 1, default: { limits: [1/1h] } }';
const everyone = closedLoop({ clients: 10_000 });
const oneDenied = closedLoop({ clients: 1, expects: 'deny' });

await using lab = createLab();
const redis = await lab.redis();
const contestants = [
  { name: 'empty, node:http', server: await lab.server('rivals/empty-http.ts'), load: everyone },
  {
    name: 'empty, Fastify (route)',
    server: await lab.server('rivals/empty-route.ts'),
    load: everyone,
  },
  {
    name: 'empty, Fastify (hook)',
    server: await lab.server('rivals/empty-hook.ts'),
    load: everyone,
  },
  { name: 'memory', server: await lab.gateway(ROOMY), load: everyone },
  { name: 'memory, one denied client', server: await lab.gateway(TIGHT), load: oneDenied },
  { name: 'Redis', server: await lab.gateway(ROOMY, redis.url(0)), redis, load: everyone },
  {
    name: 'Redis, one denied client',
    server: await lab.gateway(TIGHT, redis.url(1)),
    redis,
    load: oneDenied,
  },
] as const;
const outcomes = await interleave(contestants, { rounds: 12 });
const [, , hook, memory, memoryDenied] = outcomes;
const inMemory = new Map<Outcome, Outcome>([
  [outcomes[5], memory],
  [outcomes[6], memoryDenied],
]);
printTable(
  outcomes.map((outcome) => {
    const { usesRedis } = outcome;
    const same = inMemory.get(outcome);
    return {
      server: outcome.name,
      'CPU us/request': spread(all(outcome, 'serverMicrosPerRequest')),
      'of which kernel': spread(all(outcome, 'systemMicrosPerRequest')),
      'Redis CPU us/request': usesRedis ? spread(all(outcome, 'redisMicrosPerRequest')) : '',
      'all CPU us/request': spread(all(outcome, 'totalMicrosPerRequest')),
      'all CPU, times empty Fastify (hook)': timesThat(outcome, hook, 'totalMicrosPerRequest'),
      'CPU, times memory': same ? timesThat(outcome, same, 'serverMicrosPerRequest') : '',
      'script calls/request': usesRedis ? spread(all(outcome, 'scriptCallsPerRequest'), 3) : '',
      'requests/s': spread(all(outcome, 'requestsPerSecond'), 0),
    };
  }),
);
