/** What a run of vitest found, file by file, for `test/run.ts`; without it, the line that ends the run. */
import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface FileResult extends Counts {
  /** From the root of the repository. */
  readonly file: string;
  readonly project: string;
  /** The test that failed first, with the names of its suites. */
  readonly firstFailed?: string;
  /** Its imports, or a hook of a suite. It counts as one failed test. */
  readonly failsOutsideTests: boolean;
}

export interface RunReport {
  readonly files: readonly FileResult[];
  /** Errors that no test caught. */
  readonly errors: number;
}

/** Names a file that gets the report as JSON. */
export const REPORT_FILE_VARIABLE = 'TEST_REPORT_FILE';

export class RunReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const report: RunReport = { files: modules.map(resultOf), errors: errors.length };
    const file = process.env[REPORT_FILE_VARIABLE];
    if (file === undefined) console.log(closingLine(countsOf(report)));
    else appendFileSync(file, JSON.stringify(report));
  }
}

export function countsOf({ files, errors }: RunReport): Counts {
  const sum = (key: keyof Counts) => files.reduce((total, each) => total + each[key], 0);
  return { passed: sum('passed'), failed: sum('failed') + errors, skipped: sum('skipped') };
}

/** Such as `120 passed, 0 failed`. */
export function closingLine({ passed, failed, skipped }: Counts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}

function resultOf(module: TestModule): FileResult {
  const states = { passed: 0, failed: 0, skipped: 0, pending: 0 };
  let first = { name: '', endedAt: Number.POSITIVE_INFINITY };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    states[state]++;
    const { startTime = 0, duration = 0 } = test.diagnostic() ?? {};
    const endedAt = startTime + duration;
    if (state === 'failed' && endedAt < first.endedAt) first = { name: test.fullName, endedAt };
  }
  const suites = [module, ...module.children.allSuites()];
  const failsOutsideTests =
    suites.some((suite) => suite.errors().length > 0) ||
    (states.failed === 0 && !['passed', 'skipped'].includes(module.state()));
  return {
    file: module.relativeModuleId,
    project: module.project.name,
    passed: states.passed,
    failed: states.failed + (failsOutsideTests ? 1 : 0),
    skipped: states.skipped + states.pending,
    ...(first.name !== '' && { firstFailed: first.name }),
    failsOutsideTests,
  };
}
