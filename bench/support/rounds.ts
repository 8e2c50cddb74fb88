/** Contestants take short turns, so that a noisy machine is noisy for all of them. */

import { type Row, spread } from '../../tools/table.ts';
import { cpuMicrosOf } from './cpu.ts';
import type { RedisServer, Server } from './lab.ts';
import { type Applied, applyLoad, CONNECTIONS, type Load } from './load.ts';
import { machineLine } from './machine.ts';

export interface Contestant {
  readonly name: string;
  readonly server: Server;
  /** Whose CPU time and script calls are its own while it has its turn. */
  readonly redis?: RedisServer;
  /** By wrk, or by whatever else applies it for so many seconds. */
  readonly load: Omit<Load, 'url'> | ((seconds: number) => Promise<Applied>);
}

/** One turn. */
export interface Measured {
  readonly serverMicrosPerRequest: number;
  readonly redisMicrosPerRequest: number;
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
}

/** A gateway that Redis fails answers faster than one that counts. */
const MOST_FAILURES = 0.001;

/** Prints the machine and resolves to the outcomes, in the order of the contestants. The first round warms up. */
export async function interleave<const T extends readonly Contestant[]>(
  contestants: T,
  { rounds = 15, seconds = 1 }: RoundOptions = {},
): Promise<{ [K in keyof T]: Outcome }> {
  console.log(
    `${machineLine()}; ${rounds} rounds of ${seconds} s, ${CONNECTIONS} connections. Median (least to most).\n`,
  );
  const outcomes = contestants.map(({ name, redis }) => ({
    name,
    usesRedis: redis !== undefined,
    rounds: [] as Measured[],
  }));
  for (const contestant of contestants) await takeTurn(contestant, 1);
  for (let round = 0; round < rounds; round++) {
    for (const [i, contestant] of contestants.entries()) {
      outcomes[i]?.rounds.push(await takeTurn(contestant, seconds));
    }
  }
  return outcomes as { [K in keyof T]: Outcome };
}

async function takeTurn(
  { name, server, redis, load }: Contestant,
  seconds: number,
): Promise<Measured> {
  const read = async () => ({
    serverMicros: cpuMicrosOf(server.pid),
    redisMicros: redis === undefined ? 0 : cpuMicrosOf(redis.pid),
    scriptCalls: redis === undefined ? 0 : await scriptCalls(redis),
    failures: (await server.failures?.()) ?? 0,
  });
  const before = await read();
  const { requests, requestsPerSecond } =
    typeof load === 'function'
      ? await load(seconds)
      : await applyLoad({ ...load, url: server.url }, seconds);
  const after = await read();
  const failures = after.failures - before.failures;
  if (failures > requests * MOST_FAILURES)
    throw new Error(`${name}: Redis failed ${failures} times`);
  const serverMicros = after.serverMicros - before.serverMicros;
  const redisMicros = after.redisMicros - before.redisMicros;
  const calls = after.scriptCalls - before.scriptCalls;
  return {
    serverMicrosPerRequest: serverMicros / requests,
    redisMicrosPerRequest: redisMicros / requests,
    scriptCallsPerRequest: calls / requests,
    scriptCallsPerSecond: calls / seconds,
    requestsPerSecond,
    requestsPerCpuSecond: (requests * 1_000_000) / (serverMicros + redisMicros),
  };
}

async function scriptCalls({ client }: RedisServer): Promise<number> {
  const stats = await client.info('commandstats');
  const counts = stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

export function all(outcome: Outcome, figure: keyof Measured): number[] {
  return outcome.rounds.map((round) => round[figure]);
}

/** How many times the other's figure, round by round: both met the same noise. */
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
