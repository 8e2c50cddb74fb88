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
  const statuses = WHOLE_RUN.map((args) => vitest(args, countsFile).status ?? 1);
  const lines = readFileSync(countsFile, 'utf8').trim().split('\n');
  const counts: Counts[] = lines.map((line) => JSON.parse(line));
  rmSync(folder, { recursive: true });
  const sum = (key: keyof Counts) => counts.reduce((total, each) => total + each[key], 0);
  const failed = sum('failed');
  process.exitCode = Math.max(...statuses);
  if (failed === 0 && process.exitCode !== 0) {
    console.log('Every test passed, but coverage is too low or a run ended early: see above.');
  }
  console.log(closingLine({ passed: sum('passed'), failed, skipped: sum('skipped') }));
}

function vitest(args: readonly string[], countsFile?: string) {
  const env = { ...process.env, ...(countsFile && { [COUNTS_FILE_VARIABLE]: countsFile }) };
  return spawnSync('vitest', ['run', ...args], { stdio: 'inherit', env });
}
