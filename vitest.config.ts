import { defineConfig } from 'vitest/config';
import { ClosingLineReporter } from './test/support/closing-line-reporter.ts';

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLineReporter()],
    projects: [
      {
        // No servers, seconds.
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          // Properties take seconds where the machine is busy.
          testTimeout: 30_000,
        },
      },
      {
        // Real Redis, NGINX, Envoy and gateway processes.
        test: {
          name: 'full',
          include: ['test/{contract,integration,e2e}/**/*.test.ts'],
          globalSetup: ['test/support/provision.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Files that measure real time would disturb each other on a small machine.
          fileParallelism: false,
        },
      },
    ],
  },
});
