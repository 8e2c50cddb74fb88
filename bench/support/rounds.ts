/** Contestants take short turns, so that a noisy machine is noisy for all of them. */

import { type Row, spread } from '../../tools/table.ts';
import { cpuMicrosOf, systemMicrosOf } from './cpu.ts';
import type { RedisServer, Server } from './lab.ts';
import { type Applied, CONNECTIONS, type Latency, type Load } from './load.ts';
import { machineLine } from './machine.ts';

export interface Contestant {
  readonly name: string;
  /** Missing: a proxy that sends no checks. */
  readonly server?: Server | undefined;
  /** Its CPU time and script calls are those of the contestant while it has its turn. */
  readonly redis?: RedisServer | undefined;
  /** The load goes to this proxy, which sends checks to the server. */
  readonly proxy?: Server;
  readonly load: Load;
}

/** One turn. */
export interface Measured extends Partial<Latency> {
  readonly serverMicrosPerRequest: number;
  /** The part of it that the kernel needs. */
  readonly systemMicrosPerRequest: number;
  readonly redisMicrosPerRequest: number;
  /** Server and Redis. */
  readonly totalMicrosPerRequest: number;
  readonly proxyMicrosPerRequest: number;
  readonly scriptCallsPerRequest: number;
  readonly scriptCallsPerSecond: number;
  readonly requestsPerSecond: number;
  readonly requestsPerCpuSecond: number;
}

export interface Outcome {
  readonly name: string;
  readonly usesRedis: boolean;
  readonly rounds: readonly Measured[];
}

export interface RoundOptions {
  readonly rounds?: number;
  readonly seconds?: number;
  /** Of each contestant, before the first round. */
  readonly warmUpSeconds?: number;
  /** For the line about the machine. */
  readonly loadIs?: string;
}

/** Requests of a gateway to Redis that may fail, as a share. A gateway without Redis answers faster than by counting. */
const MOST_FAILURES = 0.001;

/** Prints the machine and resolves to the outcomes, in the order of the contestants. */
export async function interleave<const T extends readonly Contestant[]>(
  contestants: T,
  options: RoundOptions = {},
): Promise<{ [K in keyof T]: Outcome }> {
  const { rounds = 15, seconds = 1, warmUpSeconds = 1 } = options;
  const { loadIs = `${CONNECTIONS} connections` } = options;
  console.log(
    `${machineLine()}; ${rounds} rounds of ${seconds} s, ${loadIs}. Median (least to most).\n`,
  );
  const outcomes = contestants.map(({ name, redis }) => ({
    name,
    usesRedis: redis !== undefined,
    rounds: [] as Measured[],
  }));
  for (const contestant of contestants) await takeTurn(contestant, warmUpSeconds);
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      outcomes[i]?.rounds.push(await takeTurn(contestant, seconds));
    }
  }
  return outcomes as { [K in keyof T]: Outcome };
}

async function takeTurn(contestant: Contestant, seconds: number): Promise<Measured> {
  const { name, server, proxy, load } = contestant;
  const target = proxy ?? server;
  if (target === undefined) throw new Error(`${name} has nothing that answers`);
  const before = await readCounters(contestant);
  const applied = await load(target, seconds).catch((error: unknown) => {
    throw new Error(`${name}: ${error instanceof Error ? error.message : error}`);
  });
  const after = await readCounters(contestant);
  const failures = after.failures - before.failures;
  if (failures > applied.requests * MOST_FAILURES)
    throw new Error(`${name}: Redis failed ${failures} times`);
  return measured(before, after, applied, seconds);
}

interface Counters {
  readonly serverMicros: number;
  readonly systemMicros: number;
  readonly redisMicros: number;
  readonly proxyMicros: number;
  readonly scriptCalls: number;
  readonly failures: number;
}

async function readCounters({ server, redis, proxy }: Contestant): Promise<Counters> {
  return {
    serverMicros: server === undefined ? 0 : cpuMicrosOf(server.pid),
    systemMicros: server === undefined ? 0 : systemMicrosOf(server.pid),
    redisMicros: redis === undefined ? 0 : cpuMicrosOf(redis.pid),
    proxyMicros: proxy === undefined ? 0 : cpuMicrosOf(proxy.pid),
    scriptCalls: redis === undefined ? 0 : await scriptCalls(redis),
    failures: (await server?.failures?.()) ?? 0,
  };
}

function measured(before: Counters, after: Counters, applied: Applied, seconds: number): Measured {
  const { requests, requestsPerSecond, latency } = applied;
  const grownBy = (counter: keyof Counters) => after[counter] - before[counter];
  const totalMicros = grownBy('serverMicros') + grownBy('redisMicros');
  return {
    serverMicrosPerRequest: grownBy('serverMicros') / requests,
    systemMicrosPerRequest: grownBy('systemMicros') / requests,
    redisMicrosPerRequest: grownBy('redisMicros') / requests,
    totalMicrosPerRequest: totalMicros / requests,
    proxyMicrosPerRequest: grownBy('proxyMicros') / requests,
    scriptCallsPerRequest: grownBy('scriptCalls') / requests,
    scriptCallsPerSecond: grownBy('scriptCalls') / seconds,
    requestsPerSecond,
    requestsPerCpuSecond: (requests * 1_000_000) / totalMicros,
    ...latency,
  };
}

async function scriptCalls({ client }: RedisServer): Promise<number> {
  const stats = await client.info('commandstats');
  const counts = stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** NaN for what was not measured. */
export function all(outcome: Outcome, figure: keyof Measured): number[] {
  return outcome.rounds.map((round) => round[figure] ?? Number.NaN);
}

/** The ratio to the other's figure, round by round: both met the same noise. */
export function timesThat(of: Outcome, other: Outcome, figure: keyof Measured): string {
  const theirs = all(other, figure);
  return spread(
    all(of, figure).map((value, round) => value / (theirs[round] ?? Number.NaN)),
    2,
  );
}

/** The columns that every table of rounds has. */
export function figuresOf(outcome: Outcome): Row {
  const ofRedis = (text: string) => (outcome.usesRedis ? text : '');
  return {
    server: outcome.name,
    'CPU us/request': spread(all(outcome, 'serverMicrosPerRequest')),
    'Redis CPU us/request': ofRedis(spread(all(outcome, 'redisMicrosPerRequest'))),
    'script calls/request': ofRedis(spread(all(outcome, 'scriptCallsPerRequest'), 3)),
    'requests/s': spread(all(outcome, 'requestsPerSecond'), 0),
  };
}
