/** `npm test` runs a failed file once more, alone, if a disturbance can have failed it. */
import { expect, test } from 'vitest';
import type { FileResult, RunReport } from '../run/run-report.ts';
import {
  decide,
  flakyLine,
  getsSecondTry,
  MAX_SECOND_TRIES,
  passes,
  type Run,
  totalOf,
} from '../run/second-try.ts';

const result = (part: Partial<FileResult> = {}): FileResult => ({
  file: 'test/integration/pages.test.ts',
  project: 'system',
  passed: 9,
  failed: 0,
  skipped: 0,
  failsOutsideTests: false,
  ...part,
});
const FAILED = result({ passed: 7, failed: 2, firstFailed: 'a page > opens' });
const GREEN = result({ file: 'test/integration/top.test.ts' });

const run = (files: readonly FileResult[], part: Partial<RunReport & Run> = {}): Run => {
  const { errors = 0, status = files.some(({ failed }) => failed > 0) ? 1 : 0 } = part;
  return { status, report: { files, errors } };
};
const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ ...FAILED, file: `test/e2e/${i}.test.ts` }));
const decided = (runs: readonly Run[], source = '') => decide(runs, () => source);

test('a run without failures is green, and repeats nothing', () => {
  expect(decided([run([GREEN]), run([GREEN])])).toEqual({ files: [], failures: [] });
});

test('up to three failed files run once more', () => {
  const three = numbered(MAX_SECOND_TRIES);
  expect(MAX_SECOND_TRIES).toBe(3);
  expect(decided([run([GREEN]), run([...three, GREEN])])).toEqual({ files: three, failures: [] });
});

test('four failed files fail the run, wherever they are', () => {
  const [one, ...others] = numbered(4);
  expect(decided([run([one ?? GREEN]), run(others)])).toEqual({
    files: [],
    failures: ['4 files failed. At most 3 get a second try'],
  });
});

test.each([
  ['test/contract/redis-store.test.ts', ''],
  ['test/scenarios/exactness/exactness.test.ts', ''],
  ['test/scenarios/worst-case/worst-case.test.ts', ''],
  ['test/scenarios/same-answers/same-answers.test.ts', ''],
  ['test/unit/gateway/stores/memory-store.test.ts', ''],
  ['test/unit/gateway/dialects/contract.test.ts', "from '../../contract/dialect.contract.ts';"],
  ['test/unit/cli/import/hostile.test.ts', "import fc from 'fast-check';"],
])('%s gets no second try', (file, source) => {
  expect(getsSecondTry(file, source)).toBe(false);
  const failed = { ...FAILED, file };
  expect(decided([run([failed])], source)).toEqual({
    files: [],
    failures: [`${file} gets no second try: a busy machine cannot fail it`],
  });
});

test('no file runs again beside one that gets no second try', () => {
  const contract = { ...FAILED, file: 'test/contract/redis-store.test.ts' };
  expect(decided([run([contract, FAILED])]).files).toEqual([]);
});

test.each<[string, Run, RegExp]>([
  ['an error that no test caught', run([GREEN], { errors: 1, status: 1 }), /^1 errors that no/],
  ['the same beside a failed test', run([FAILED], { errors: 1 }), /^1 errors that no test caught/],
  ['coverage below its bar', run([GREEN], { status: 1 }), /status 1, for another reason than/],
  ['an interrupted run', run([FAILED], { status: 130 }), /status 130, for another reason/],
  ['a run that a signal ended', run([FAILED], { status: null }), /with a signal, for another/],
  ['a failure that vitest does not mind', run([FAILED], { status: 0 }), /status 0, for another/],
  ['a crash', { status: null, report: undefined }, /ended with a signal before its tests did/],
  ['no program', { status: 1, report: undefined }, /status 1 before its tests did/],
  [
    'a hook of a suite that failed',
    run([result({ failed: 1, failsOutsideTests: true })]),
    /pages.test.ts failed outside its tests/,
  ],
])('%s fails the run at once', (_, failed, expected) => {
  const { files, failures } = decided([run([GREEN]), failed]);
  expect(files).toEqual([]);
  expect(failures).toEqual([expect.stringMatching(expected)]);
  expect(totalOf([failed], [], failures).failed).toBeGreaterThan(0);
});

test('a file passes in its second try only with every test that it ran before', () => {
  expect(passes(FAILED, run([result()]))).toBe(true);
  expect(passes(FAILED, run([result({ passed: 8, skipped: 1 })]))).toBe(false);
  expect(passes(FAILED, run([FAILED]))).toBe(false);
  expect(passes(FAILED, run([result()], { status: 1 }))).toBe(false);
  expect(passes(FAILED, run([GREEN]))).toBe(false);
  expect(passes(FAILED, { status: 0, report: undefined })).toBe(false);
});

test('a flaky file counts as passed, and is named with the test that failed first', () => {
  expect(totalOf([run([GREEN]), run([FAILED])], [FAILED], [])).toEqual({
    passed: 18,
    failed: 0,
    skipped: 0,
  });
  expect(flakyLine(FAILED)).toBe('FLAKY test/integration/pages.test.ts: a page > opens');
});

test('a file that failed twice counts as failed', () => {
  const failures = ['test/integration/pages.test.ts failed twice'];
  expect(totalOf([run([GREEN, FAILED])], [], failures)).toMatchObject({ passed: 16, failed: 2 });
});
