/** What a report says of an entry of the policy file's lists. */
import { expect, test } from 'vitest';
import type { ListEntry } from '../../../../src/gateway/core/identity/access-lists.ts';
import { listedReport } from '../../../../src/gateway/operations/listed-report.ts';

const ENTRY = { address: '203.0.113.7/32', expiresMs: Number.POSITIVE_INFINITY } as ListEntry;

test('an entry that ends says until when', () => {
  const report = listedReport('block', { ...ENTRY, expiresMs: Date.UTC(2026, 0, 2, 12) });
  expect(report.until).toBe('2026-01-02T12:00:00.000Z');
  expect(report.what).toMatch(/, until .*2026-01-02/);
});

test('an entry without an end has no time', () => {
  const report = listedReport('block', ENTRY);
  expect(Object.keys(report)).not.toContain('until');
  expect(report.what).toBe('the policy file blocks 203.0.113.7/32');
});

test('an entry that has no effect says why', () => {
  expect(listedReport('exempt', ENTRY, 'another wins')).toMatchObject({
    applies: false,
    what: 'the policy file exempts 203.0.113.7/32; no effect: another wins',
  });
});

test.each([
  ['acme', 'acme'],
  ["Bob's shop", `'Bob'\\''s shop'`],
])('a blocked key %s is named with the command that ends it', (key, word) => {
  const entry = { ...ENTRY, address: undefined, key, isInStore: true };
  expect(listedReport('block', entry).what).toBe(
    `key ${key} is blocked (headgate keys): headgate keys change ${word} --unblock`,
  );
});
