/**
 * Changes the code in small ways (mutants), runs the unit tests that reach each change, and lists the mutants that no
 * test noticed: `npm run mutate -- core stores/redis src/config/rate.ts`. Without arguments: all rooms that are held to
 * the bar. Exits 1 when a room is below it. Takes seconds per mutant: minutes for a file, hours for all rooms.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const REPORTS = join(PROJECT, '.mutants');

const ROOMS = ['core', 'dialects', 'denials', 'stores', 'operations', 'config'];
/** Percent of the mutants that the unit tests reach or should reach. */
const BAR = 85;

const { values, positionals } = parseArgs({
  options: {
    /** Also mutates what is computed once, when a file is loaded: each of these runs all tests. */
    static: { type: 'boolean', default: false },
    /** Also mutates texts. Most are prose, which no test should repeat. */
    strings: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

installOnce();
mkdirSync(REPORTS, { recursive: true });
const places = (positionals.length > 0 ? positionals : ROOMS).map((place) => ({
  place,
  ...mutate(place),
}));
console.table(places);
process.exitCode = places.some(({ percent }) => percent < BAR) ? 1 : 0;

/** The tools stand beside the project's dependencies, so that `npm ci` need not install them. */
function installOnce(): void {
  if (existsSync(join(HERE, 'node_modules'))) return;
  run('npm', ['ci', '--no-audit', '--no-fund'], HERE);
}

function mutate(place: string): { mutants: number; killed: number; percent: number } {
  const name = place.replace(/^src\//, '');
  const report = join(REPORTS, `${name.replaceAll('/', '-')}.json`);
  const configuration = join(REPORTS, 'stryker.json');
  const isFile = name.endsWith('.ts');
  writeFileSync(
    configuration,
    JSON.stringify({
      testRunner: 'vitest',
      plugins: [join(HERE, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js')],
      vitest: { configFile: 'tools/mutate/vitest.config.ts', related: true },
      mutate: [isFile ? `src/${name}` : `src/${name}/**/*.ts`],
      mutator: { excludedMutations: values.strings ? [] : ['StringLiteral'] },
      ignoreStatic: !values.static,
      ignorePatterns: ['.mutants', 'tools/mutate/node_modules'],
      // TypeScript 7 has no interface for programs that rewrite its configuration, and none is needed here.
      tsconfigFile: 'none',
      reporters: ['json', 'clear-text', 'progress-append-only'],
      clearTextReporter: { logTests: false, reportTests: false },
      jsonReporter: { fileName: report },
      tempDirName: '.mutants/sandbox',
    }),
  );
  run(join(HERE, 'node_modules/.bin/stryker'), ['run', configuration], PROJECT);
  return countIn(report);
}

interface Report {
  readonly files: Readonly<Record<string, { mutants: readonly { status: string }[] }>>;
}

function countIn(report: string) {
  const { files }: Report = JSON.parse(readFileSync(report, 'utf8'));
  const states = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status));
  const counted = states.filter((state) => state !== 'Ignored' && state !== 'CompileError');
  const killed = counted.filter((state) => state === 'Killed' || state === 'Timeout').length;
  const percent = counted.length === 0 ? 100 : Math.round((1000 * killed) / counted.length) / 10;
  return { mutants: counted.length, killed, percent };
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed`);
}
