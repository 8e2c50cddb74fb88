/** Which failed test files run once more, and what a run of all tests comes to. `test/run.ts` does what this says. */
import { type Counts, countsOf, type FileResult, type RunReport } from './run-report.ts';

/**
 * Suites that a busy machine cannot fail: what they find once is a mistake, such as a race or an input that is rare.
 * So they run once. They are known by where they are, or by what they import.
 */
const ONE_TRY = {
  paths: [
    'test/contract/',
    'test/platform/redis-versions.test.ts',
    'test/scenarios/exactness/',
    'test/scenarios/flood/',
    'test/scenarios/same-answers/',
    'test/scenarios/worst-case/',
    'test/unit/gateway/core/',
    'test/unit/gateway/stores/',
  ],
  imports: [
    // The contracts of stores and dialects.
    /\.contract\.ts'/,
    // Other inputs in each run.
    /from 'fast-check'/,
    /\/fuzz\b/,
  ],
};

/** If more files fail, the reason is not a disturbance. */
export const MAX_SECOND_TRIES = 3;

/** A run of vitest. */
export interface Run {
  /** Null if a signal ended it. */
  readonly status: number | null;
  /** Undefined if it ended before its tests did. */
  readonly report: RunReport | undefined;
}

export interface Decision {
  /** To be run once more, each alone. */
  readonly files: readonly FileResult[];
  /** Why the run has failed already. No file is run again then. */
  readonly failures: readonly string[];
}

/** `sourceOf` returns the text of a file. */
export function decide(runs: readonly Run[], sourceOf: (file: string) => string): Decision {
  const failures = runs.flatMap(failuresOutsideTests);
  const files = runs.flatMap(failedFiles);
  for (const { file, failsOutsideTests } of files) {
    if (failsOutsideTests) failures.push(`${file} failed outside its tests`);
    else if (!getsSecondTry(file, sourceOf(file)))
      failures.push(`${file} gets no second try: a busy machine cannot fail it`);
  }
  if (files.length > MAX_SECOND_TRIES)
    failures.push(`${files.length} files failed. At most ${MAX_SECOND_TRIES} get a second try`);
  return { files: failures.length === 0 ? files : [], failures };
}

export function getsSecondTry(file: string, source: string): boolean {
  return (
    !ONE_TRY.paths.some((path) => file.startsWith(path)) &&
    !ONE_TRY.imports.some((pattern) => pattern.test(source))
  );
}

/** Whether a file passed alone, with every test that it ran before. */
export function passes(first: FileResult, { status, report }: Run): boolean {
  const second = report?.files.find(({ file }) => file === first.file);
  return status === 0 && second !== undefined && second.passed >= first.passed + first.failed;
}

/** The counts of all runs. `retried` has files that passed in their second try, which is the one that counts. */
export function totalOf(
  runs: readonly Run[],
  retried: readonly FileResult[],
  failures: readonly string[],
): Counts {
  const files = runs.flatMap(({ report }) => report?.files ?? []);
  const errors = runs.reduce((sum, { report }) => sum + (report?.errors ?? 0), 0);
  const counts = countsOf({ files, errors });
  const repaired = retried.reduce((sum, { failed }) => sum + failed, 0);
  const failed = counts.failed - repaired;
  return {
    passed: counts.passed + repaired,
    // A crash or missing coverage fails no test, but the last line must not say that nothing failed.
    failed: failed === 0 && failures.length > 0 ? 1 : failed,
    skipped: counts.skipped,
  };
}

export function flakyLine({ file, firstFailed }: FileResult): string {
  return `FLAKY ${file}: ${firstFailed}`;
}

function failedFiles({ report }: Run): readonly FileResult[] {
  return report?.files.filter(({ failed }) => failed > 0) ?? [];
}

function failuresOutsideTests(run: Run): string[] {
  const { status, report } = run;
  if (report === undefined) return [`vitest ended with ${endOf(run)} before its tests did`];
  const failures: string[] = [];
  if (report.errors > 0) failures.push(`${report.errors} errors that no test caught`);
  // Failed tests end vitest with 1, and nothing else does beside them: it measures no coverage then.
  const expected = failedFiles(run).length > 0 ? 1 : 0;
  if (report.errors === 0 && status !== expected)
    failures.push(`vitest ended with ${endOf(run)}, for another reason than a test`);
  return failures;
}

function endOf({ status }: Run): string {
  return status === null ? 'a signal' : `status ${status}`;
}
