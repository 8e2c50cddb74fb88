/**
 * Changes the code in small ways (mutants), runs the unit tests that reach each change, lists the mutants that no test
 * noticed, and prints a table by room: `npm run mutate -- --sample 50 gateway/core cli/import/nginx`. Without rooms: all
 * that are held to the bar. A sample is the same each time, until the code or `--seed` changes. Exits with 1 if a room
 * is below.
 *
 * `--whole` then runs the system tests on each mutant that no unit test noticed; `--whole FILE...` runs these tests only.
 * It goes on where it was stopped.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HERE, PROJECT, REPORTS, run } from './folders.ts';
import { isKilled, type Judged, roomOf } from './mutant.ts';
import { chooseSample } from './sample.ts';
import { noticedBySystemTests } from './whole.ts';

/** Percent of the mutants that unit tests should notice. */
const BAR = 85;

/** The commands that are missing here print what a room tells them. System tests run them. */
const COMMANDS = ['check', 'doctor', 'evidence', 'import', 'policy-tests', 'proxy-files', 'top'];
const ROOMS = [
  ...readdirSync(join(PROJECT, 'src/gateway')).map((name) => `gateway/${name}`),
  ...COMMANDS.map((name) => `cli/${name}`),
];

const { values, positionals } = parseArgs({
  options: {
    /** Mutants of each room. One takes a second or two, and minutes if it makes a test wait. */
    sample: { type: 'string', default: '15' },
    whole: { type: 'boolean', default: false },
    /** Any text. Another text gives another sample. */
    seed: { type: 'string', default: '' },
  },
  allowPositionals: true,
});
const size = Number(values.sample);
if (!Number.isInteger(size) || size < 1) throw new Error('--sample: write a whole number from 1');
const tests = positionals.filter((name) => name.startsWith('test/'));
const named = positionals.filter((name) => !name.startsWith('test/'));

installOnce();
mkdirSync(REPORTS, { recursive: true });
const judged = mutate(await chooseSample(named.length > 0 ? named : ROOMS, size, values.seed));
const table = tableOf(judged);
console.table(table);
if (values.whole) {
  const survivors = judged.filter((each) => !isKilled(each));
  const noticed = noticedBySystemTests(survivors, tests);
  const killed = judged.length - survivors.length + noticed;
  console.log(
    `With system tests: ${killed} of ${judged.length}, ${percent(killed, judged.length)} %`,
  );
}
process.exitCode = table.some((row) => row.percent < BAR) ? 1 : 0;

/** The tools stand beside the project's dependencies, so that `npm ci` need not install them. */
function installOnce(): void {
  if (existsSync(join(HERE, 'node_modules'))) return;
  run('npm', ['ci', '--no-audit', '--no-fund'], HERE);
}

/** All rooms in one run, because it begins with a run of all unit tests. */
function mutate(ranges: readonly string[]): Judged[] {
  const report = join(REPORTS, 'report.json');
  const configuration = join(REPORTS, 'stryker.json');
  writeFileSync(
    configuration,
    JSON.stringify({
      testRunner: 'vitest',
      plugins: [
        join(HERE, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js'),
        join(HERE, 'in-sample.ts'),
      ],
      checkers: ['in-sample'],
      vitest: { configFile: 'tools/mutate/vitest.config.ts', related: true },
      mutate: ranges,
      // What is computed once, when a file is loaded, would run all tests.
      ignoreStatic: true,
      // All unit tests, one after the other, on a machine that is busy.
      dryRunTimeoutMinutes: 30,
      ignorePatterns: ['.mutants', 'tools/mutate/node_modules'],
      // TypeScript 7 has no interface for programs that rewrite its configuration, and none is needed here.
      tsconfigFile: 'none',
      reporters: ['json', 'clear-text', 'progress-append-only'],
      clearTextReporter: { logTests: false, reportTests: false, reportScoreTable: false },
      jsonReporter: { fileName: report },
      tempDirName: '.mutants/sandbox',
    }),
  );
  run(join(HERE, 'node_modules/.bin/stryker'), ['run', configuration], PROJECT);
  return judgedIn(report);
}

interface Report {
  readonly files: Readonly<Record<string, { mutants: readonly Omit<Judged, 'file'>[] }>>;
}

function judgedIn(report: string): Judged[] {
  const { files }: Report = JSON.parse(readFileSync(report, 'utf8'));
  return Object.entries(files)
    .flatMap(([file, { mutants }]) => mutants.map((each) => ({ ...each, file })))
    .filter(({ status }) => status !== 'Ignored' && status !== 'CompileError');
}

function tableOf(all: readonly Judged[]) {
  const rooms = [...Map.groupBy(all, ({ file }) => roomOf(file)), ['all', all] as const];
  return rooms.map(([room, mutants]) => {
    const killed = mutants.filter(isKilled).length;
    return { room, mutants: mutants.length, killed, percent: percent(killed, mutants.length) };
  });
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 100 : Math.round((1_000 * part) / whole) / 10;
}
