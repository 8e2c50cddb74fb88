/** CPU time of processes, from /proc: Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** User and system time of a process, its threads and its child processes, since their start. */
export function cpuMicrosOf(pid: number): number {
  let micros = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    // Nanoseconds on a processor come first. The ticks of `stat` are too coarse for low rates.
    micros += Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1_000;
    const children = readFileSync(`${folder}/children`, 'utf8').trim();
    for (const child of children.split(' ')) if (child !== '') micros += cpuMicrosOf(Number(child));
  }
  return micros;
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
