import { expect, test } from 'vitest';
import { fitsName, fitsPath } from '../../../../../src/cli/proxy-files/read/file-pattern.ts';

test.each([
  ['/etc/nginx/*.conf', '/etc/nginx/a.conf'],
  ['/etc/nginx/*/*.conf', '/etc/nginx/sites/a.conf'],
  ['/etc/nginx/sites/*', '/etc/nginx/sites/shop'],
  ['/a/*', '/a/b'],
  ['/a/b*c*d', '/a/bxcycd'],
  ['/a/[a-c]?.conf', '/a/b1.conf'],
  ['/a/[!a-c]1', '/a/d1'],
  ['/a/[]x]', '/a/]'],
  ['/a/.*', '/a/.hidden'],
  ['/a/+(1).conf', '/a/+(1).conf'],
  ['/a/[', '/a/['],
])('%s fits %s', (pattern, path) => {
  expect(fitsPath(pattern, path)).toBe(true);
});

test.each([
  ['/etc/nginx/*.conf', '/etc/nginx/a.conf~'],
  ['/etc/nginx/*.conf', '/etc/nginx/sites/a.conf'],
  ['/etc/nginx/*', '/etc/nginx/.hidden'],
  ['/etc/nginx/?.conf', '/etc/nginx/.conf'],
  ['/a/[a-c]', '/a/d'],
  ['/a/[!a-c]', '/a/b'],
  ['/a/b*c', '/a/bcd'],
  ['/a/a.conf', '/a/aXconf'],
])('%s does not fit %s', (pattern, path) => {
  expect(fitsPath(pattern, path)).toBe(false);
});

test('a hostile pattern takes no longer than its length times that of the name', () => {
  expect(fitsPath(`/${'*a'.repeat(500)}b`, `/${'a'.repeat(2_000)}`)).toBe(false);
});

test.each([
  ['*.conf', 'a.conf', true],
  ['*.conf', '.conf', false],
  ['*.conf', 'a.conf.bak', false],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['[0-9]*', '10-site', true],
  ['[0-9]*', 'site', false],
  ['[!a-c]x', 'dx', true],
  ['[!a-c]x', 'bx', false],
  ['*a*a*a*a*a*b', 'a'.repeat(2_000), false],
  ['[', '[', true],
])('%s fits the name %s: %s', (pattern, name, expected) => {
  expect(fitsName(pattern, name)).toBe(expected);
});
