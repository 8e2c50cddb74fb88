/** What does a second worker bring on this machine, and what would eight bring on a larger one, by a model? */
import { median, printTable } from '../tools/table.ts';
import { byRow, calls, cost, printOutcomes, throughput, times } from './support/columns.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { interleave, type Outcome } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const CLIENTS = 10_000;
const MODELLED_WORKERS = [1, 2, 4, 8, 16];
/** Connections of each worker. */
const FEW = 8;
const MANY = 64;

await using lab = createLab();
const redis = await lab.redis();
const start = (workers: number, database: number) => () =>
  lab.gateway(POLICIES, redis.url(database), { HEADGATE_WORKERS: String(workers) });
const [one, two] = [start(1, 0), start(2, 1)];
const loadOf = (connections: number) => closedLoop({ clients: CLIENTS, connections });
const outcomes = await interleave(
  [
    { name: '1 worker, 8 connections', start: one, redis, load: loadOf(FEW) },
    { name: '2 workers, 8 connections each', start: two, redis, load: loadOf(2 * FEW) },
    { name: '1 worker, 64 connections', start: one, redis, load: loadOf(MANY) },
    { name: '2 workers, 64 connections each', start: two, redis, load: loadOf(2 * MANY) },
  ],
  { rounds: 6, warmUpSeconds: 5, loadIs: 'closed loop' },
);
const [few, fewTwice, many, manyTwice] = outcomes;
const againstOne = byRow((outcome) => {
  const single = outcome === few || outcome === fewTwice ? few : many;
  return (each) => ({
    ...times('CPU, times 1 worker', single, 'serverMicrosPerRequest')(each),
    ...times('Redis CPU, times 1 worker', single, 'redisMicrosPerRequest')(each),
    ...times('requests/s, times 1 worker', single, 'requestsPerSecond')(each),
  });
});
printOutcomes([few, fewTwice, many, manyTwice], cost, throughput, calls, againstOne);

console.log(`
A model, not a measurement: decisions/s if each worker, Redis and the load had a core of its own. The workers do as many
as their CPU per decision allows, and Redis, which works on one core, bounds all of them together. The CPU per decision is
what was measured above with one worker or with two; it assumes that more workers do not change it.
`);
printTable(
  MODELLED_WORKERS.map((workers) => ({
    workers: String(workers),
    '8 connections each, cost of 1': modelled(workers, few),
    '8 connections each, cost of 2': modelled(workers, fewTwice),
    '64 connections each, cost of 1': modelled(workers, many),
    '64 connections each, cost of 2': modelled(workers, manyTwice),
  })),
);

/** The least of what the workers can do and what Redis can do, with the costs of this outcome. */
function modelled(workers: number, { rounds }: Outcome): string {
  const ofWorkers =
    (workers * 1_000_000) / median(rounds.map((round) => round.serverMicrosPerRequest));
  const ofRedis = 1_000_000 / median(rounds.map((round) => round.redisMicrosPerRequest));
  const bound = ofRedis < ofWorkers ? 'Redis' : 'the workers';
  return `${Math.round(Math.min(ofRedis, ofWorkers))} (${bound})`;
}
