/**
 * What does a decision cost with 1,000,000 active keys, against 1,000?
 *
 * Every client is counted once before the rounds begin, so that all keys exist. The load then sends requests of clients
 * from the whole range.
 */

import { printTable } from '../tools/table.ts';
import { fill } from './support/fill.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { figuresOf, interleave, timesThat } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const FEW = 1_000;
const MANY = 1_000_000;

await using lab = createLab();
// Servers of their own: the keys of one must not be in the way of the other.
const [fewRedis, manyRedis] = [await lab.redis(), await lab.redis()];
const few = closedLoop({ clients: FEW });
const many = closedLoop({ clients: MANY });
const contestants = [
  { name: 'memory, 1,000 keys', server: await lab.gateway(POLICIES), clients: FEW, load: few },
  {
    name: 'memory, 1,000,000 keys',
    server: await lab.gateway(POLICIES),
    clients: MANY,
    load: many,
  },
  {
    name: 'Redis, 1,000 keys',
    server: await lab.gateway(POLICIES, fewRedis.url()),
    redis: fewRedis,
    clients: FEW,
    load: few,
  },
  {
    name: 'Redis, 1,000,000 keys',
    server: await lab.gateway(POLICIES, manyRedis.url()),
    redis: manyRedis,
    clients: MANY,
    load: many,
  },
] as const;
await Promise.all(
  contestants.map(({ server, clients }) => fill({ url: server.url, requests: clients, clients })),
);
const outcomes = await interleave(contestants, { rounds: 9 });
const [fewInMemory, , fewInRedis] = outcomes;
printTable(
  outcomes.map((outcome) => {
    const least = outcome.usesRedis ? fewInRedis : fewInMemory;
    return {
      ...figuresOf(outcome),
      'CPU, times 1,000': timesThat(outcome, least, 'serverMicrosPerRequest'),
      'Redis CPU, times 1,000': outcome.usesRedis
        ? timesThat(outcome, least, 'redisMicrosPerRequest')
        : '',
    };
  }),
);
