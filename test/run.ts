/**
 * `npm test`: the unit tests with their coverage, then the system tests in their short form. `npm run test:all`: all
 * tests, in their whole form. A file that failed runs once more, alone; `test/run/second-try.ts` says which files.
 * Then come a line for each flaky file and one closing line. `npm test -- ARGUMENTS` is `vitest run ARGUMENTS`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closingLine, type FileResult, REPORT_FILE_VARIABLE } from './run/run-report.ts';
import { decide, flakyLine, passes, type Run, totalOf } from './run/second-try.ts';

const PROVISION = fileURLToPath(new URL('run/provision.ts', import.meta.url));
const UNIT = ['--project', 'unit', '--coverage'];
const SHORT = ['--project', 'system'];
const WHOLE = [...SHORT, '--project', 'platform', '--project', 'scenarios'];

const given = process.argv.slice(2);
if (given.length === 0) {
  process.env.TEST_FORM = 'short';
  runAll(SHORT);
} else if (given.length === 1 && given[0] === '--all') runAll(WHOLE);
else process.exitCode = vitest(given).status ?? 1;

function runAll(others: readonly string[]): void {
  // What it cannot install, the system tests report.
  spawn(process.execPath, [PROVISION], { stdio: 'ignore' }).unref();
  const runs = [reported(UNIT), reported(others)];
  const { files, failures: early } = decide(runs, (file) => readFileSync(file, 'utf8'));
  const flaky = files.filter(passesAlone);
  const failures = [
    ...early,
    ...files.filter((file) => !flaky.includes(file)).map(({ file }) => `${file} failed twice`),
  ];
  // Coverage is measured only if every test passes.
  if (failures.length === 0 && flaky.some(({ project }) => project === 'unit')) {
    const { status } = reported(UNIT);
    if (status !== 0) failures.push('the unit tests failed again, or cover too little');
  }
  for (const file of flaky) console.log(flakyLine(file));
  // The reason can be thousands of lines above the end.
  for (const failure of failures) console.log(`${failure}. Look for FAIL or ERROR above.`);
  if (failures.length > 0) process.exitCode = 1;
  console.log(closingLine(totalOf(runs, flaky, failures)));
}

function passesAlone(first: FileResult): boolean {
  console.log(`${first.file} failed. It runs once more, alone.`);
  return passes(first, reported(['--project', first.project, first.file]));
}

function reported(args: readonly string[]): Run {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-tests-'));
  const file = join(folder, 'report.json');
  const { status } = vitest(args, { [REPORT_FILE_VARIABLE]: file });
  const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
  rmSync(folder, { recursive: true });
  return { status, report };
}

function vitest(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync('vitest', ['run', ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
}
