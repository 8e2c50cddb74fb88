/** Runs system tests on the mutants that no unit test noticed, in a copy of the project. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT, REPORTS } from './folders.ts';
import { applied, type Judged, keyOf } from './mutant.ts';

/** What earlier runs found, so that a run that was stopped goes on. */
const FOUND = join(REPORTS, 'whole.json');
/** A mutant may make a test wait for ever. */
const AT_MOST_MS = 20 * 60_000;

/** How many of these mutants the tests notice; without `tests`, all system tests. Each ends at the first failure. */
export function noticedBySystemTests(mutants: readonly Judged[], tests: readonly string[]): number {
  using copy = copyOfProject();
  if (isNoticed(copy.path, tests)) throw new Error('the system tests fail without any mutant');
  const found: Record<string, boolean> = existsSync(FOUND)
    ? JSON.parse(readFileSync(FOUND, 'utf8'))
    : {};
  for (const mutant of mutants) {
    const key = foundUnder(mutant, tests);
    found[key] ??= isNoticedIn(copy.path, mutant, tests);
    writeFileSync(FOUND, JSON.stringify(found));
    console.log(`${found[key] ? 'noticed ' : 'survived'} ${keyOf(mutant.file, mutant, 0)}`);
  }
  return mutants.filter((mutant) => found[foundUnder(mutant, tests)]).length;
}

/** Holds for this text of the file. */
function foundUnder(mutant: Judged, tests: readonly string[]): string {
  const text = readFileSync(join(PROJECT, mutant.file));
  const version = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return [version, keyOf(mutant.file, mutant, 1), ...tests].join(' ');
}

function copyOfProject(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'headgate-mutants-'));
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', listed, { cwd: PROJECT, encoding: 'utf8' });
  for (const file of files.split('\0')) {
    const from = join(PROJECT, file);
    // A file that was deleted is still listed.
    if (file !== '' && existsSync(from)) cpSync(from, join(path, file), { verbatimSymlinks: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(path, 'node_modules'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function isNoticedIn(copy: string, mutant: Judged, tests: readonly string[]): boolean {
  const file = join(copy, mutant.file);
  const original = readFileSync(file, 'utf8');
  writeFileSync(file, applied(original, mutant));
  try {
    return isNoticed(copy, tests);
  } finally {
    writeFileSync(file, original);
  }
}

function isNoticed(copy: string, tests: readonly string[]): boolean {
  const projects = tests.length > 0 ? [] : ['--project', 'system'];
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--bail', '1', ...projects, ...tests],
    { cwd: copy, stdio: 'ignore', timeout: AT_MOST_MS },
  );
  return status !== 0;
}
