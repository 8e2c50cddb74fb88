/** Load by wrk, and the CPU time that it costs the processes under it. Linux only: CPU time is read from /proc. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** A wrk script. */
  readonly script: string;
}

export interface Measured {
  readonly requests: number;
  /** Of each process, microseconds per request. */
  readonly cpuMicros: readonly number[];
  readonly requestsPerSecond: number;
}

/** Clock ticks of /proc: 100 per second on every Linux that Node runs on. */
const MICROS_PER_TICK = 10_000;

export function applyLoad(load: Load, pids: readonly number[]): Measured {
  const before = pids.map(cpuTicks);
  const output = execFileSync(
    'wrk',
    ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '-s', load.script, load.url],
    { encoding: 'utf8' },
  );
  const requests = Number(/(\d+) requests in/.exec(output)?.[1]);
  const requestsPerSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
  const failed = /Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1];
  if (failed !== undefined) throw new Error(`${load.url}: ${failed} answers were no allow`);
  const cpuMicros = pids.map(
    (pid, i) => ((cpuTicks(pid) - (before[i] ?? 0)) * MICROS_PER_TICK) / requests,
  );
  return { requests, cpuMicros, requestsPerSecond };
}

/** User and system time of a process and all its threads. */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
