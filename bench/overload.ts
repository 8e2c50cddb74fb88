/**
 * How many requests are answered in time under overload?
 *
 * Every connection of wrk sends its next request as soon as it has an answer, so more connections mean more requests that
 * wait. 64 connections reach the highest throughput, 192 are three times as many, 1,024 are the most that an Envoy opens
 * by default, and 4,096 are those of four Envoys. In time means within 200 ms, when Envoy gives up by default.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { printTable, spread } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { CLIENTS_SCRIPT } from './support/load.ts';
import { machineLine } from './support/machine.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const CONNECTIONS = [64, 192, 1_024, 4_096];
const ROUNDS = 5;
const SECONDS = 3;
const CLIENTS = 10_000;

await using lab = createLab();
const redis = await lab.redis();
const gateway = await lab.gateway(POLICIES, redis.url());

interface Round {
  readonly inTimePerSecond: number;
  readonly answeredPerSecond: number;
  readonly slowestMs: number;
  /** Connections that were refused, and requests without an answer. */
  readonly failed: number;
}

async function applyOverload(connections: number): Promise<Round> {
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${SECONDS}s`,
    '-s',
    CLIENTS_SCRIPT,
    gateway.url,
    '--',
  ];
  const { stdout } = await promisify(execFile)('wrk', [...args, String(CLIENTS)]);
  const figure = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0);
  const answeredPerSecond = figure(/Requests\/sec:\s+([\d.]+)/);
  const slowest = /Latency\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)/.exec(stdout);
  const unitMs = { us: 0.001, ms: 1, s: 1_000 }[slowest?.[2] ?? 'ms'] ?? 1;
  const errors = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(
    stdout,
  );
  return {
    answeredPerSecond,
    inTimePerSecond: (answeredPerSecond * figure(/in time: ([\d.]+)/)) / 100,
    slowestMs: Number(slowest?.[1] ?? 0) * unitMs,
    failed: (errors ?? []).slice(1).reduce((sum, count) => sum + Number(count), 0),
  };
}

await applyOverload(64);
const rounds = new Map<number, Round[]>(CONNECTIONS.map((count) => [count, []]));
for (let round = 0; round < ROUNDS; round++) {
  for (const count of CONNECTIONS) rounds.get(count)?.push(await applyOverload(count));
}
const peaks = rounds.get(64) ?? [];

console.log(`${machineLine()}; ${ROUNDS} rounds of ${SECONDS} s. Median (least to most).\n`);
printTable(
  [...rounds].map(([connections, seen]) => ({
    connections: String(connections),
    'answered/s': spread(
      seen.map((each) => each.answeredPerSecond),
      0,
    ),
    'in time/s': spread(
      seen.map((each) => each.inTimePerSecond),
      0,
    ),
    'of the most': spread(
      seen.map((each, i) => each.inTimePerSecond / (peaks[i]?.inTimePerSecond ?? Number.NaN)),
      2,
    ),
    'slowest, ms': spread(
      seen.map((each) => each.slowestMs),
      0,
    ),
    failed: String(seen.reduce((sum, { failed }) => sum + failed, 0)),
  })),
);
