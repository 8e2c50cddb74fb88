import { expect, test } from 'vitest';
import { printable, printableJson } from '../../../src/core/printable.ts';

/** Every character up to the end of the planes that have any. */
const EVERY = Array.from({ length: 0xe1000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));
const OBEYED = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

test('no character that a terminal obeys is left', () => {
  expect(printable(EVERY.join(''))).not.toMatch(OBEYED);
});

test('all others stay as they are', () => {
  const harmless = EVERY.filter((char) => !OBEYED.test(char)).join('');
  expect(printable(harmless)).toBe(harmless);
});

test('JSON stays the same document, without such a character but its line breaks', () => {
  const value = { text: EVERY.join(''), '\u009b2J': ['\u202e'] };
  const json = printableJson(JSON.stringify(value, null, 2));
  expect(json.replaceAll('\n', '')).not.toMatch(OBEYED);
  expect(JSON.parse(json)).toEqual(value);
});
