/** Words of YAML 1.1 as Go reads them. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  isFraction,
  withScalars,
} from '../../../../../src/gateway/ratelimit/rules/yaml-scalars.ts';

const read = (text: string) => parse(text, { customTags: withScalars });

test.each([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (text) => [text, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (text) => [text, false] as const,
  ),
  ...['yES', 'tRUE', 'oN', 'nO', 'yess', 'truest', 'offs', 'yy', 'nn'].map(
    (text) => [text, text] as const,
  ),
])('%s is %j', (text, expected) => expect(read(text)).toBe(expected));

test.each([
  ['0', 0],
  ['-0', -0],
  ['7', 7],
  ['+7', 7],
  ['-7', -7],
  ['1_000', 1_000],
  ['010', 8],
  ['-010', -8],
  ['0o17', 15],
  ['0O17', 15],
  ['0b101', 5],
  ['0B11', 3],
  ['0x1F', 31],
  ['-0X1f', -31],
  ['0_1', 1],
  // The tags of YAML 1.2 would read a number.
  ['08', '08'],
  ['0b2', '0b2'],
  ['0xg', '0xg'],
  ['_1', '_1'],
])('%s is %j', (text, expected) => expect(read(text)).toBe(expected));

test('other words are as in YAML 1.2', () => {
  expect(read('[1.5, null, ~, a, "yes", 1e3]')).toEqual([1.5, null, null, 'a', 'yes', 1_000]);
});

test.each([
  [1.5, '1.5', true],
  [1, '1.0', true],
  [1_000, '1e3', true],
  [1_000, '1_000', false],
  [8, '010', false],
  [1, undefined, false],
  ['1.5', '1.5', false],
])('%j, written %j, is a fraction: %j', (value, source, expected) => {
  expect(isFraction(value, source)).toBe(expected);
});
