/** CPU time of processes, from /proc: Linux only. */
import { readFileSync } from 'node:fs';

/** Clock ticks of /proc: 100 per second on every Linux that Node runs on. */
const MICROS_PER_TICK = 10_000;

/** User and system time of a process and all its threads, since its start. */
export function cpuMicrosOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program stands in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
}
