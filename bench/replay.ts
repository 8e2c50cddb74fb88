/**
 * How many lines of an access log does `headgate replay` decide in a second, and how much memory does it need?
 *
 * The compiled headgate reads a log of NGINX's combined format, with one limit for logins and a default. Every client
 * sends as much as any other. `node bench/replay.ts large` replays ten million lines of a million clients, once,
 * in one thread.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../test/support/resident-memory.ts';
import { printTable, spread } from '../tools/table.ts';
import { type AccessLog, writeAccessLog } from './support/access-log.ts';
import { buildInto } from './support/checkouts.ts';
import { endedChildrenMillis } from './support/cpu.ts';
import { createLab } from './support/lab.ts';
import { machineLine } from './support/machine.ts';

const POLICIES = `version: 1
default: { limits: [600/1min] }
policies: [{ name: login, match: { path: /api/auth/login }, limits: [5/5min] }]
`;
const MIB = 1024 * 1024;
/** How often memory is read. */
const EVERY_MS = 20;

interface Case extends AccessLog {
  readonly threads: number;
}

interface Run {
  readonly linesPerSecond: number;
  readonly cpuMicros: number;
  readonly peakMib: number;
}

const isLarge = process.argv[2] === 'large';
const cores = availableParallelism();
const medium = { lines: 1_000_000, clients: 50_000, meanGapMs: 10 };
const cases: readonly Case[] = isLarge
  ? [{ lines: 10_000_000, clients: 1_000_000, meanGapMs: 1, threads: 1 }]
  : [
      { ...medium, threads: 1 },
      { ...medium, threads: cores },
      { ...medium, clients: 1_000, threads: cores },
      { ...medium, lines: 2_000_000, threads: cores },
    ];
const ROUNDS = isLarge ? 1 : 3;

await using lab = createLab();
const folder = lab.folder({ 'policies.yaml': POLICIES });
const headgate = buildInto(folder);
const runs = new Map<Case, Run[]>(cases.map((each) => [each, []]));
console.log(`${machineLine()}; ${ROUNDS} rounds. Median (least to most).\n`);
const logs = new Map<string, string>();
for (const each of cases) logs.set(nameOf(each), await written(each));
for (let round = 0; round < ROUNDS; round++) {
  for (const each of cases) runs.get(each)?.push(await replay(each));
}
for (const path of logs.values()) rmSync(path);
printTable(
  [...runs].map(([{ lines, clients, threads }, found]) => ({
    lines: lines.toLocaleString('en'),
    clients: clients.toLocaleString('en'),
    threads: String(threads),
    'lines/s': spread(
      found.map(({ linesPerSecond }) => linesPerSecond),
      0,
    ),
    'CPU us/line': spread(found.map(({ cpuMicros }) => cpuMicros)),
    'most memory, MiB': spread(
      found.map(({ peakMib }) => peakMib),
      0,
    ),
  })),
);

/** Cases with the same log share it. */
function nameOf({ lines, clients }: AccessLog): string {
  return `${lines}-${clients}.log`;
}

async function written(log: AccessLog): Promise<string> {
  const path = join(folder, nameOf(log));
  if (!logs.has(nameOf(log))) await writeAccessLog(path, log);
  return path;
}

async function replay(each: Case): Promise<Run> {
  const { lines, threads } = each;
  const args = ['replay', logs.get(nameOf(each)) ?? '', '--threads', String(threads), '-o', 'json'];
  const startMs = performance.now();
  const cpuBeforeMs = endedChildrenMillis();
  const child = spawn(process.execPath, [headgate, ...args], {
    env: { ...process.env, HEADGATE_POLICIES: join(folder, 'policies.yaml') },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  let peakBytes = 0;
  while (child.exitCode === null && child.signalCode === null) {
    peakBytes = Math.max(peakBytes, bytesOf(child.pid ?? 0));
    await Promise.race([exited, sleep(EVERY_MS)]);
  }
  if (child.exitCode !== 0) throw new Error(`headgate ${args.join(' ')} failed`);
  return {
    linesPerSecond: (lines * 1_000) / (performance.now() - startMs),
    cpuMicros: ((endedChildrenMillis() - cpuBeforeMs) * 1_000) / lines,
    peakMib: peakBytes / MIB,
  };
}

/** Zero for a process that has just ended. */
function bytesOf(pid: number): number {
  try {
    return residentBytes(pid) || 0;
  } catch {
    return 0;
  }
}
