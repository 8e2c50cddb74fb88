/**
 * What does a second worker bring on this machine, and what would eight bring on a larger one?
 *
 * The second part is a model, not a measurement. A worker needs as much CPU per decision as the only worker did with as
 * many connections, on a core of its own. Redis works on one core, so its CPU per decision bounds all workers together.
 */
import { median, printTable } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { all, figuresOf, interleave, type Outcome, timesThat } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const CLIENTS = 10_000;
const MODELLED_WORKERS = [1, 2, 4, 8, 16];
/** Connections of each worker. */
const FEW = 8;
const MANY = 64;

await using lab = createLab();
const redis = await lab.redis();
const start = (workers: number, database: number) =>
  lab.gateway(POLICIES, redis.url(database), { HEADGATE_WORKERS: String(workers) });
const [one, two] = [await start(1, 0), await start(2, 1)];
const loadOf = (connections: number) => closedLoop({ clients: CLIENTS, connections });
const outcomes = await interleave(
  [
    { name: '1 worker, 8 connections', server: one, redis, load: loadOf(FEW) },
    { name: '2 workers, 8 connections each', server: two, redis, load: loadOf(2 * FEW) },
    { name: '1 worker, 64 connections', server: one, redis, load: loadOf(MANY) },
    { name: '2 workers, 64 connections each', server: two, redis, load: loadOf(2 * MANY) },
  ],
  { rounds: 12, loadIs: 'closed loop' },
);
const [few, fewTwice, many, manyTwice] = outcomes;
const row = (outcome: Outcome, single: Outcome) => ({
  ...figuresOf(outcome),
  'CPU, times 1 worker': timesThat(outcome, single, 'serverMicrosPerRequest'),
  'Redis CPU, times 1 worker': timesThat(outcome, single, 'redisMicrosPerRequest'),
  'requests/s, times 1 worker': timesThat(outcome, single, 'requestsPerSecond'),
});
printTable([row(few, few), row(fewTwice, few), row(many, many), row(manyTwice, many)]);

console.log(`
A model, not a measurement: decisions/s if each worker, Redis and the load had a core of its own. It holds as long as
the workers' CPU per decision does not depend on how many they are; the last columns above say how far that is so for two.
`);
printTable(
  MODELLED_WORKERS.map((workers) => ({
    workers: String(workers),
    '8 connections each': modelled(workers, few),
    '64 connections each': modelled(workers, many),
  })),
);

/** The least of what the workers can do and what Redis can do. */
function modelled(workers: number, single: Outcome): string {
  const perSecond = (figure: 'serverMicrosPerRequest' | 'redisMicrosPerRequest') =>
    1_000_000 / median(all(single, figure));
  const ofWorkers = workers * perSecond('serverMicrosPerRequest');
  const ofRedis = perSecond('redisMicrosPerRequest');
  const bound = ofRedis < ofWorkers ? 'Redis' : 'the workers';
  return `${Math.round(Math.min(ofRedis, ofWorkers))}, bound by ${bound}`;
}
