/** Three kinds of tests: `unit` starts nothing, `system` starts real programs, `scenarios` measures real time. */
import { defineConfig } from 'vitest/config';
import { ClosingLineReporter } from './test/support/closing-line-reporter.ts';

/** Scenarios and judges that start nothing. */
const IN_VIRTUAL_TIME = [
  'test/scenarios/{flood,worst-case}/*.test.ts',
  'test/scenarios/*/judge.test.ts',
];

const REAL_PROGRAMS = {
  globalSetup: ['test/support/provision.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLineReporter()],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts', ...IN_VIRTUAL_TIME],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          // Properties take seconds on a busy machine.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/{contract,integration,e2e}/**/*.test.ts'],
          ...REAL_PROGRAMS,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          exclude: IN_VIRTUAL_TIME,
          ...REAL_PROGRAMS,
          // One file at a time: a second one would disturb what is measured.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
