/**
 * What does a decision cost with 1,000,000 active keys, against 1,000?
 *
 * Every client was counted once before the rounds begin, so that all keys are there; the load then asks for clients
 * from all over them.
 */

import { printTable } from '../tools/table.ts';
import { fill } from './support/fill.ts';
import { createLab } from './support/lab.ts';
import { figuresOf, interleave, timesThat } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const FEW = 1_000;
const MANY = 1_000_000;

await using lab = createLab();
// Servers of their own: the keys of one must not be in the way of the other.
const [fewRedis, manyRedis] = [await lab.redis(), await lab.redis()];
const contestants = [
  { name: 'memory, 1,000 keys', server: await lab.gateway(POLICIES), load: { clients: FEW } },
  { name: 'memory, 1,000,000 keys', server: await lab.gateway(POLICIES), load: { clients: MANY } },
  {
    name: 'Redis, 1,000 keys',
    server: await lab.gateway(POLICIES, fewRedis.url()),
    redis: fewRedis,
    load: { clients: FEW },
  },
  {
    name: 'Redis, 1,000,000 keys',
    server: await lab.gateway(POLICIES, manyRedis.url()),
    redis: manyRedis,
    load: { clients: MANY },
  },
] as const;
await Promise.all(
  contestants.map(({ server, load: { clients } }) =>
    fill({ url: server.url, requests: clients, clients }),
  ),
);
const outcomes = await interleave(contestants, { rounds: 9 });
const [fewInMemory, , fewInRedis] = outcomes;
printTable(
  outcomes.map((outcome) => {
    const few = outcome.usesRedis ? fewInRedis : fewInMemory;
    return {
      ...figuresOf(outcome),
      'CPU, times 1,000': timesThat(outcome, few, 'serverMicrosPerRequest'),
      'Redis CPU, times 1,000': outcome.usesRedis
        ? timesThat(outcome, few, 'redisMicrosPerRequest')
        : '',
    };
  }),
);
