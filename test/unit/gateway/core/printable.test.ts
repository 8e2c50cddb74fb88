import { expect, test } from 'vitest';
import { printable, printableJson } from '../../../../src/gateway/core/printable.ts';

/** Every character up to the end of the planes that have any. */
const EVERY = Array.from({ length: 0xe1000 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

test('escapes every control character', () => {
  expect(printable(EVERY.join(''))).not.toMatch(UNSAFE);
});

test('leaves all other characters as they are', () => {
  const harmless = EVERY.filter((char) => !UNSAFE.test(char)).join('');
  expect(printable(harmless)).toBe(harmless);
});

test('escaped JSON is the same document, with no control characters but line breaks', () => {
  const value = { text: EVERY.join(''), '\u009b2J': ['\u202e'] };
  const json = printableJson(JSON.stringify(value, null, 2));
  expect(json.replaceAll('\n', '')).not.toMatch(UNSAFE);
  expect(JSON.parse(json)).toEqual(value);
});
