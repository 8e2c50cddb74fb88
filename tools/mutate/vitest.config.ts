/** The unit tests that run the code of src. Those that read its text would read mutants. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/unit/*/**/*.test.ts'],
    testTimeout: 30_000,
  },
});
