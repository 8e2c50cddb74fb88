import { describe, expect, test } from 'vitest';
import { isLoose } from '../../../../../src/gateway/core/identity/header-value.ts';
import { BLANKS, withBlanks } from '../../../../support/blanks.ts';

const isLooseValue = (value: string) => isLoose({ 'x-api-key': value }, 'x-api-key');

describe('an application could read another value', () => {
  test.each(BLANKS)('of a value with the blank %j at an end', (blank) => {
    for (const value of withBlanks('foo', blank)) expect(isLooseValue(value)).toBe(true);
  });
  test.each(BLANKS)('of the blank %j alone', (blank) => {
    expect(isLooseValue(blank)).toBe(true);
  });
  test.each([
    ...['foo\x80\xc2\xa0', '\xe3\x80\x80foo\x80', 'caf\xe9\xa0', 'foo\xa0\x85', '\x7ffoo'],
    ...[' '.repeat(8_300), 'a'.repeat(8_193), `${' '.repeat(8_300)}foo`],
  ])('of %j', (value) => {
    expect(isLooseValue(value)).toBe(true);
  });
});

test.each([
  ...['', 'foo', 'a b', 'a\tb', 'foo!', '~', 'a'.repeat(8_192)],
  ...['étoile', 'voilà', 'Å', 'Черных', 'ТОР', '東京', '한', '👍'].map((text) =>
    Buffer.from(text).toString('latin1'),
  ),
  ...['caf\xe9', '\xe9toile'],
])('every application reads %j alike', (value) => {
  expect(isLooseValue(value)).toBe(false);
});

test('a header that is absent, or inherited from Object, is no value', () => {
  expect(isLoose({}, 'x-api-key')).toBe(false);
  expect(isLoose({}, 'constructor')).toBe(false);
});
