import { expect, test } from 'vitest';
import {
  isOlder,
  knownVulnerabilities,
  missingFixes,
  type Product,
} from '../../../../../src/cli/doctor/redis/known-vulnerabilities.ts';

const missing = (product: Product, version: string, tls = false) =>
  missingFixes(product, version, { tls });

test.each<[product: Product, version: string, names: string[], fixedIn: string | undefined]>([
  ['Redis', '7.2.10', ['CVE-2025-49844'], '7.2.11'],
  ['Redis', '7.2.6', ['CVE-2025-49844', 'CVE-2024-46981'], '7.2.11'],
  ['Redis', '7.4.8', ['CVE-2026-23631'], '7.4.9'],
  ['Redis', '8.2.1', ['CVE-2026-23631', 'CVE-2025-49844'], '8.2.6'],
  ['Valkey', '8.1.3', ['CVE-2026-23631', 'CVE-2025-49844'], '8.1.7'],
  ['Valkey', '7.2.11', ['CVE-2026-23631'], '7.2.13'],
])('%s %s lacks what a later release of its line has', (product, version, names, fixedIn) => {
  expect(missing(product, version)).toEqual({ names, fixedIn });
});

test('an old release line is reported for the fixes it never got', () => {
  const names = ['CVE-2026-23631', 'CVE-2025-49844', 'CVE-2024-46981', 'CVE-2024-31449'];
  for (const version of ['7.0.11', '7.0.15']) {
    expect(missing('Redis', version)).toEqual({ names, fixedIn: undefined });
  }
});

test.each<[product: Product, version: string]>([
  ['Redis', '6.2.20'],
  ['Redis', '7.2.11'],
  ['Redis', '7.4.9'],
  ['Redis', '8.2.10'],
  // Later than all that is listed.
  ['Redis', '8.12.0'],
  ['Valkey', '9.1.0'],
  ['Redis', 'unstable'],
  ['Redis', ''],
])('nothing is known of %s %s', (product, version) => {
  expect(missing(product, version)).toBeUndefined();
});

test('vulnerabilities of TLS are ignored without TLS', () => {
  expect(missing('Redis', '8.10.0')).toBeUndefined();
  expect(missing('Redis', '8.10.0', true)).toEqual({
    names: ['CVE-2026-81934'],
    fixedIn: '8.10.1',
  });
  expect(missing('Valkey', '9.1.0', true)?.fixedIn).toBe('9.1.1');
});

test('compares versions by their numbers', () => {
  expect(isOlder('6.0.16', [6, 2])).toBe(true);
  expect(isOlder('5.10.0', [6, 2])).toBe(true);
  expect(isOlder('6.2.0', [6, 2])).toBe(false);
  expect(isOlder('10.0.0', [6, 2])).toBe(false);
  expect(isOlder('', [6, 2])).toBe(true);
});

test('the list has a date, and each entry a source', () => {
  const { updated, vulnerabilities } = knownVulnerabilities();
  expect(updated).toMatch(/^20\d\d-[01]\d-[0-3]\d$/);
  for (const entry of vulnerabilities) {
    expect(entry).toMatchObject({ source: expect.stringMatching(/\d{4}-\d\d-\d\d/) });
    for (const product of Object.keys(entry.fixedIn))
      expect(['Redis', 'Valkey']).toContain(product);
    for (const lines of Object.values(entry.fixedIn)) {
      for (const [line, patch] of Object.entries(lines)) {
        expect(line).toMatch(/^\d+\.\d+$/);
        expect(patch === null || Number.isInteger(patch)).toBe(true);
      }
    }
  }
});
