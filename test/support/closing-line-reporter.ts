/** Ends every run with one line that says how it went: `120 passed, 0 failed`. */
import type { Reporter, TestModule } from 'vitest/node';

export class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A module that fails to load has no tests to count.
      const tests = [...module.children.allTests()];
      if (module.state() === 'failed' && tests.length === 0) counts.failed++;
      for (const test of tests) counts[test.result().state]++;
    }
    const skipped = counts.skipped + counts.pending;
    const line = `${counts.passed} passed, ${counts.failed} failed`;
    console.log(skipped === 0 ? line : `${line}, ${skipped} skipped`);
  }
}
