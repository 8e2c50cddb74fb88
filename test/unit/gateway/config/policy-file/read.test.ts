import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  ageOf,
  parseCloudflareRanges,
  readUpTo,
  validateFiles,
} from '../../../../../src/gateway/config/policy-file/read.ts';
import { SHIPPED_RANGES } from '../../../../../src/gateway/config/shipped-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-read-'));
afterAll(() => rmSync(folder, { recursive: true }));

const policies = join(folder, 'policies.yaml');
const cloudflareRanges = join(folder, 'ranges.yaml');
const paths = { policies, cloudflareRanges };
const TEXT = 'version: 1\ndefault: { limits: [1/1s] }\n';
const RANGES = 'checked: 2026-11-01\nranges: [192.0.2.0/24]\n';
writeFileSync(policies, TEXT);
writeFileSync(cloudflareRanges, RANGES);

test('does not read files that together are larger than wanted', () => {
  const size = TEXT.length + RANGES.length;
  expect(readUpTo(size - 1, paths)).toBeUndefined();
  expect(readUpTo(size, paths)).toMatchObject({
    found: { ranges: { cloudflare: ['192.0.2.0/24'] } },
  });
});

test('records the version of every file, also if the policy file is refused', () => {
  const missing = join(folder, 'missing.yaml');
  const reading = readUpTo(1_000, { ...paths, policies: missing });
  expect([...(reading?.versions.keys() ?? [])].sort()).toEqual([missing, cloudflareRanges].sort());
  expect(reading?.found).toMatchObject({
    mistakes: [
      expect.stringContaining(
        'does not exist; --policies or HEADGATE_POLICIES names the policy file',
      ),
    ],
  });
});

test('finds a key file relative to the folder of the policy file', () => {
  const read: string[] = [];
  const texts = new Map([
    ['/etc/headgate/policies.yaml', `${TEXT}identity: { api_key: { keys: sub/keys.yaml } }\n`],
    ['/etc/headgate/sub/keys.yaml', '[]'],
    ['/ranges.yaml', RANGES],
  ]);
  validateFiles(
    { policies: '/etc/headgate/policies.yaml', cloudflareRanges: '/ranges.yaml' },
    (path, namedBy) => {
      read.push(namedBy);
      return texts.get(path) ?? '';
    },
  );
  expect(read).toEqual([
    'HEADGATE_CLOUDFLARE_RANGES names the list of Cloudflare networks',
    '--policies or HEADGATE_POLICIES names the policy file',
    'identity.api_key.keys names it, relative to the folder of the policy file',
  ]);
});

test('tells the shipped list of Cloudflare networks from others', () => {
  const isShipped = (path: string) =>
    validateFiles({ policies, cloudflareRanges: path }, (file) =>
      file === policies ? TEXT : RANGES,
    ).cloudflare.isShipped;
  expect([isShipped(SHIPPED_RANGES), isShipped(cloudflareRanges)]).toEqual([true, false]);
});

test.each([
  ['ranges: [192.0.2.0/24]'],
  ['checked: 2026-11-01\nranges: []'],
  ['checked: lately\nranges: [192.0.2.0/24]'],
  ['checked: 2026-11-01\nranges: [cloudflare]'],
  ['checked: 2026-11-01\nranges: [0.0.0.0/0]'],
  ['checked: 2026-11-01\nranges: [everyone]'],
])('refuses the list %j', (text) => {
  expect(() => parseCloudflareRanges(text, 'ranges.yaml')).toThrow(
    'ranges.yaml: must have "checked", a date such as 2026-12-31, and "ranges"',
  );
});

test('a list is old after 90 days', () => {
  const list = parseCloudflareRanges(RANGES, 'ranges.yaml');
  expect(ageOf(list, Date.parse('2027-01-30'))).toBeUndefined();
  expect(ageOf(list, Date.parse('2027-01-31'))).toBe(
    'the list of Cloudflare networks is 91 days old (2026-11-01)',
  );
});
