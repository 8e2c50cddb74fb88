/**
 * Four kinds of tests: `unit` starts nothing, `system` starts Redis and proxies, `platform` runs headgate as packages and
 * platforms do, and `scenarios` puts gateways under load while Redis must answer within a deadline.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { RunReporter } from './test/run/run-report.ts';

// The tests set what they need. What a shell has set for a gateway is not for theirs.
for (const name of Object.keys(process.env))
  if (/^(HEADGATE_|REDIS_URL$)/.test(name)) delete process.env[name];

// Servers that give up their rights read what the tests write, as with the umask that most machines have.
process.umask(0o022);

/** Scenarios and judges that start nothing. */
const IN_VIRTUAL_TIME = [
  'test/scenarios/{flood,worst-case}/*.test.ts',
  'test/scenarios/*/judge.test.ts',
];

/** Scenarios that no deadline of a gateway takes part in: other files may run beside them. */
const WITHOUT_DEADLINES = [
  'test/scenarios/{exactness,hostile,keep-alive,keys,reloads,rolling,settle,soak}/*.test.ts',
];

/** Node starts a third sooner if it has compiled the same source before. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL('node_modules/.cache/headgate', import.meta.url));

/**
 * In percent, at least two below what the unit tests reach: V8 counts a few branches differently from run to run.
 * The stores' traffic with Redis is covered by the system tests.
 */
const LEAST_COVERED = {
  'src/gateway/core/**': { lines: 98, branches: 95 },
  'src/gateway/dialects/**': { lines: 98, branches: 93 },
  'src/gateway/stores/**': { lines: 88, branches: 83 },
};

const REAL_PROGRAMS = {
  // Some servers refuse the locale of a user that the machine does not have.
  env: { NODE_COMPILE_CACHE, LC_ALL: 'C.UTF-8' },
  globalSetup: ['test/run/provision.ts'],
  // Long enough for a machine that is busy with something else.
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

const SIDE_BY_SIDE = {
  // They wait as much as they work.
  maxWorkers: 4,
  maxConcurrency: 10,
  sequence: { groupOrder: 1 },
};

export default defineConfig({
  test: {
    reporters: ['default', new RunReporter()],
    // Only with --coverage, as `npm test` runs the unit tests.
    coverage: {
      provider: 'v8',
      reporter: ['text-summary'],
      include: ['src/gateway/{core,dialects,stores}/**'],
      thresholds: LEAST_COVERED,
    },
    projects: [
      {
        test: {
          name: 'unit',
          // Threads start faster than processes, and unit tests have nothing to protect from each other.
          pool: 'threads',
          include: ['test/{unit,project}/**/*.test.ts', ...IN_VIRTUAL_TIME],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          // Properties take seconds on a busy machine.
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/{contract,integration,e2e}/**/*.test.ts'],
          ...REAL_PROGRAMS,
          ...SIDE_BY_SIDE,
        },
      },
      {
        test: {
          name: 'platform',
          include: ['test/platform/**/*.test.ts', ...WITHOUT_DEADLINES],
          exclude: IN_VIRTUAL_TIME,
          ...REAL_PROGRAMS,
          ...SIDE_BY_SIDE,
          globalSetup: [...REAL_PROGRAMS.globalSetup, 'test/run/rights.ts'],
        },
      },
      {
        test: {
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          exclude: [...IN_VIRTUAL_TIME, ...WITHOUT_DEADLINES],
          ...REAL_PROGRAMS,
          // One file at a time: a second one would make Redis answer late.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
