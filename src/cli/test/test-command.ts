import { Command, InvalidArgumentError, Option } from 'commander';
import { FileError } from '../../gateway/config/diagnostic.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { linesOf } from '../output/diagnostics.ts';
import { EXIT_FAULT, EXIT_INVALID_CONFIG } from '../output/exit-codes.ts';
import { complain, say } from '../output/output.ts';
import { coveredPercent } from '../policy-tests/coverage.ts';
import { findTestFiles, TEST_FILE_NAMES } from '../policy-tests/find-test-files.ts';
import type { TestFile } from '../policy-tests/policy-test.ts';
import {
  readTestFiles,
  runTests,
  type Selects,
  selectTests,
} from '../policy-tests/policy-tests.ts';
import type { TestRun } from '../policy-tests/result.ts';
import { asJson, mistakesAsJson } from './tests-json.ts';
import { asJunit } from './tests-junit.ts';
import { asTap } from './tests-tap.ts';
import { asText, coverageLines } from './tests-text.ts';

const FORMATS = { text: asText, json: asJson, junit: asJunit, tap: asTap };
type Format = keyof typeof FORMATS;

interface TestFlags {
  readonly output: Format;
  readonly run?: Selection;
  readonly coverage?: boolean;
  readonly minCoverage?: number;
}

interface Selection {
  readonly pattern: string;
  readonly selects: Selects;
}

export function testCommand(): Command {
  return new Command('test')
    .description('run the tests of policy files, in virtual time')
    .argument(
      '[paths...]',
      `test files, and folders that have files called ${TEST_FILE_NAMES} (default: the current folder)`,
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(Object.keys(FORMATS))
        .default('text'),
    )
    .option(
      '--run <regex>',
      "run only the tests whose 'file › name' matches this regular expression",
      readSelection,
    )
    .option('--coverage', 'also print what the tests did to each limit')
    .option(
      '--min-coverage <percent>',
      'fail if fewer of the limits admitted a request and denied one; prints the coverage too',
      readPercent,
    )
    .action(test);
}

async function test(given: readonly string[], flags: TestFlags, command: Command): Promise<void> {
  const paths = given.length === 0 ? ['.'] : given;
  const { cloudflareRanges } = commandEnvironment(process.env);
  const found = findFiles(paths, command);
  if (found.length === 0) {
    command.error(`error: no test file in ${paths.join(', ')}: none is called ${TEST_FILE_NAMES}`);
  }
  let files: readonly TestFile[];
  try {
    files = readTestFiles(found, cloudflareRanges);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return refuse(error, flags);
  }
  const { run: selection } = flags;
  const selected = selection === undefined ? files : selectTests(files, selection.selects);
  if (selected.length === 0) {
    command.error(`error: no test matches --run ${selection?.pattern}`);
  }
  report(await runTests(selected), flags);
}

function findFiles(paths: readonly string[], command: Command): string[] {
  try {
    return findTestFiles(paths);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === undefined) throw error;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    return command.error(`error: ${path} ${why}`);
  }
}

function refuse({ diagnostics }: FileError, { output }: TestFlags): void {
  const count = diagnostics.length;
  if (output === 'json') say(mistakesAsJson(diagnostics));
  else complain(diagnostics.flatMap(linesOf));
  complain(`headgate: ${count} mistake${count === 1 ? '' : 's'}, no test was run`);
  process.exitCode = EXIT_INVALID_CONFIG;
}

function report(run: TestRun, { output, coverage = false, minCoverage }: TestFlags): void {
  const showsCoverage = coverage || minCoverage !== undefined;
  say(FORMATS[output](run, showsCoverage));
  // These formats have no place for it.
  const isApart = output === 'junit' || output === 'tap';
  if (isApart && showsCoverage) complain(coverageLines(run.coverage));
  const percent = coveredPercent(run.coverage);
  const isTooLow = minCoverage !== undefined && percent < minCoverage;
  if (isTooLow) {
    complain(
      `headgate: ${shown(percent)} % of the limits are covered, fewer than ${minCoverage} %`,
    );
  }
  const hasFailed = run.files.some(({ tests }) => tests.some(({ result }) => result === 'failed'));
  if (isTooLow || hasFailed) process.exitCode = EXIT_FAULT;
}

/** Rounded down, so that 99.99 is not shown as 100. */
function shown(percent: number): number {
  return Math.floor(percent * 10) / 10;
}

function readSelection(pattern: string): Selection {
  try {
    // The user of the command writes the pattern, so a slow one harms nobody else.
    const expression = new RegExp(pattern, 'u');
    return { pattern, selects: (title) => expression.test(title) };
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function readPercent(text: string): number {
  const percent = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && percent <= 100) return percent;
  throw new InvalidArgumentError('It must be a number from 0 to 100.');
}
