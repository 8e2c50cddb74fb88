/** Ends every run with one line that says how it went: `120 passed, 0 failed`. */
import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Names a file that gets the counts, one line of JSON per run. */
export const COUNTS_FILE_VARIABLE = 'HEADGATE_TEST_COUNTS_FILE';

export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const states = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A module that fails to load has no tests to count.
      const tests = [...module.children.allTests()];
      if (module.state() === 'failed' && tests.length === 0) states.failed++;
      for (const test of tests) states[test.result().state]++;
    }
    const { passed, failed, skipped, pending } = states;
    const counts: Counts = { passed, failed, skipped: skipped + pending };
    const file = process.env[COUNTS_FILE_VARIABLE];
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(counts)}\n`);
    else console.log(closingLine(counts));
  }
}

export function closingLine({ passed, failed, skipped }: Counts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}
