/**
 * Which calls share a counter. The rows are the cases of the keys in the tests of envoyproxy/ratelimit
 * (test/limiter/base_limiter_test.go, TestGenerateCacheKeys…), in its windows and in those of the product's default.
 */
import { describe, expect, test } from 'vitest';
import { callOf, limitingWith, WINDOWS } from '../../../support/rate-limiting.ts';

const RULES = `
domain: domain
descriptors:
  - { key: key, value: value, rate_limit: { unit: second, requests_per_unit: 10 } }
  - { key: files, value: files/*, share_threshold: true, rate_limit: { unit: second, requests_per_unit: 10 } }
  - { key: apart, value: files/*, rate_limit: { unit: second, requests_per_unit: 10 } }
  - key: parent
    descriptors:
      - { key: files, value: nested/*, share_threshold: true, rate_limit: { unit: second, requests_per_unit: 10 } }
  - key: both
    value: top/*
    share_threshold: true
    descriptors:
      - { key: files, value: nested/*, share_threshold: true, rate_limit: { unit: second, requests_per_unit: 10 } }
`;
const SECOND_MS = 1_000;
const SEPARATORS = [...':;=,|/. \n\0', '1:', '3:b'];
type Entries = Readonly<Record<string, string>>;

/** What is left after a call of each, at these moments. */
async function leftAfter(
  windows: (typeof WINDOWS)[number],
  calls: readonly (readonly [descriptor: string, atMs: number])[],
) {
  const limiting = limitingWith(RULES, { windows });
  const left: (number | undefined)[] = [];
  for (const [descriptor, atMs] of calls) {
    limiting.clock.nowMs = 1_234 * SECOND_MS + atMs;
    left.push((await limiting.answer(callOf('domain', [descriptor]))).statuses[0]?.remaining);
  }
  return left;
}

test.each([
  ['aligned', 'a second of the clock has a counter, the next one another', [9, 8, 7, 9, 9]],
  ['sliding', 'a hit counts for a second', [9, 8, 7, 7, 9]],
] as const)('%s: %s', async (windows, _, left) => {
  const calls = [0, 500, 999, 1_000, 2_500].map((atMs) => ['key=value', atMs] as const);
  expect(await leftAfter(windows, calls)).toEqual(left);
});

describe.each(WINDOWS)('in %s windows', (windows) => {
  test.each([
    {
      what: 'values of a pattern with a shared threshold',
      descriptors: ['a.pdf', 'b.csv', 'c.txt', 'd.json', 'subdir/f.txt'].map(
        (name) => `files=files/${name}`,
      ),
      left: [9, 8, 7, 6, 5],
    },
    {
      what: 'values below the same parent',
      descriptors: ['parent=value1 files=nested/file1.txt', 'parent=value1 files=nested/file2.csv'],
      left: [9, 8],
    },
    {
      what: 'values of two patterns',
      descriptors: ['both=top/file1.txt files=nested/a', 'both=top/file2.pdf files=nested/b'],
      left: [9, 8],
    },
  ])('$what share a counter', async ({ descriptors, left }) => {
    expect(
      await leftAfter(
        windows,
        descriptors.map((each) => [each, 0]),
      ),
    ).toEqual(left);
  });

  /** Characters that a client may send to make its values look like other entries. */
  test('values that look like other entries have counters of their own', async () => {
    const rules = 'domain: domain\ndescriptors: []\n';
    const limit = { requestsPerUnit: 10, unit: 2, unitMultiplier: undefined };
    const alike: Entries[] = [];
    for (const inner of ['', ...SEPARATORS]) {
      for (const outer of ['', ...SEPARATORS]) {
        alike.push(
          { a: `b${outer}c${inner}d` },
          { [`a${inner}b${outer}c`]: 'd' },
          { [`a${inner}b`]: `c${outer}d` },
        );
      }
    }
    alike.push({ a: 'b', c: 'd' });
    const different = [...new Map(alike.map((each) => [JSON.stringify(each), each])).values()];
    const limiting = limitingWith(rules, { windows });
    for (const entries of different) {
      const listed = Object.entries(entries).map(([key, value]) => ({ key, value }));
      const { descriptors, ...call } = callOf('domain', ['key=value']);
      const own = descriptors.map((each) => ({ ...each, entries: listed, limit }));
      const { statuses } = await limiting.answer({ ...call, descriptors: own });
      expect([entries, statuses[0]?.remaining]).toEqual([entries, 9]);
    }
  });

  test.each([
    {
      what: 'values of a pattern without a shared threshold',
      descriptors: ['apart=files/a.pdf', 'apart=files/b.csv'],
    },
    {
      what: 'parents',
      descriptors: ['parent=value1 files=nested/a', 'parent=value2 files=nested/a'],
    },
    {
      what: 'keys',
      descriptors: ['files=files/a', 'apart=files/*', 'key=value'],
    },
  ])('$what have counters of their own', async ({ descriptors }) => {
    expect(
      await leftAfter(
        windows,
        descriptors.map((each) => [each, 0]),
      ),
    ).toEqual(descriptors.map(() => 9));
  });
});
