/** CPU time and memory of processes, from /proc: Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { residentBytes } from '../../test/support/resident-memory.ts';

/** User and system time of a process, its threads and its child processes, since their start. */
export function cpuMicrosOf(pid: number): number {
  let micros = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    // Nanoseconds on a processor come first. The ticks of `stat` are too coarse for low rates.
    const [nanos] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    micros += Number(nanos) / 1_000;
  }
  return childrenOf(pid).reduce((sum, child) => sum + cpuMicrosOf(child), micros);
}

/** Of a process and its child processes. */
export function residentBytesOf(pid: number): number {
  return childrenOf(pid).reduce((sum, child) => sum + residentBytesOf(child), residentBytes(pid));
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
    return (children.match(/\d+/g) ?? []).map(Number);
  });
}

/** System time of a process and its threads, since its start, to 10 ms. */
export function systemMicrosOf(pid: number): number {
  const [, system = 0] = ticksOf(readFileSync(`/proc/${pid}/stat`, 'utf8'), 11);
  return system * MILLIS_PER_TICK * 1_000;
}

/** CPU time of child processes that have ended, milliseconds, to 10 ms. */
export function endedChildrenMillis(): number {
  const [user = 0, system = 0] = ticksOf(readFileSync('/proc/self/stat', 'utf8'), 13);
  return (user + system) * MILLIS_PER_TICK;
}

/** Clock ticks of /proc: 100 per second on every Linux that Node runs on. */
const MILLIS_PER_TICK = 10;

/** Two neighbouring fields of /proc/PID/stat, counted from the state of the process. */
function ticksOf(stat: string, field: number): number[] {
  // The name of the program stands in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [Number(fields[field]), Number(fields[field + 1])];
}
