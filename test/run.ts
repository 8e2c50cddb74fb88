/**
 * `npm test`: the unit tests with their coverage, then everything else, and one closing line for both.
 * `npm test -- ARGUMENTS` is `vitest run ARGUMENTS`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COUNTS_FILE_VARIABLE, type Counts, closingLine } from './support/closing-line-reporter.ts';

const WHOLE_RUN = [
  ['--project', 'unit', '--coverage'],
  ['--project', 'system', '--project', 'scenarios'],
];

const given = process.argv.slice(2);
if (given.length > 0) process.exitCode = vitest(given).status ?? 1;
else runAll();

function runAll(): void {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-tests-'));
  const countsFile = join(folder, 'counts');
  const runs = WHOLE_RUN.map((args) => ({ args, ...vitest(args, countsFile) }));
  const lines = readFileSync(countsFile, 'utf8').trim().split('\n');
  const counts: Counts[] = lines.map((line) => JSON.parse(line));
  rmSync(folder, { recursive: true });
  const sum = (key: keyof Counts) => counts.reduce((total, each) => total + each[key], 0);
  for (const { args, status, signal } of runs) {
    if (status === 0) continue;
    process.exitCode = 1;
    // The reason can be thousands of lines above the end.
    const end = signal ?? `status ${status}`;
    console.log(`vitest run ${args.join(' ')}: ended with ${end}. Look for FAIL or ERROR above.`);
  }
  console.log(
    closingLine({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }),
  );
}

function vitest(args: readonly string[], countsFile?: string) {
  const env = { ...process.env, ...(countsFile && { [COUNTS_FILE_VARIABLE]: countsFile }) };
  return spawnSync('vitest', ['run', ...args], { stdio: 'inherit', env });
}
