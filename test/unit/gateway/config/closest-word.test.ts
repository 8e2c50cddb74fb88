import { expect, test } from 'vitest';
import { hint } from '../../../../src/gateway/config/closest-word.ts';

test.each([
  ['polices', ['policies', 'default'], ', did you mean "policies"?'],
  ['pre', ['rate', 'per'], ', did you mean "per"?'],
  ['defautl', ['default', 'defaults'], ', did you mean "default"?'],
  ['verified_header', ['verified_headers'], ', did you mean "verified_headers"?'],
  ['colour', ['policies', 'default'], ''],
  ['rat', ['ip'], ''],
  ['x', ['ip'], ''],
  ['user', ['rate'], ''],
  ['limxyz', ['limits'], ''],
  ['', ['ip'], ''],
])('the hint for "%s" among %j is "%s"', (word, known, expected) => {
  expect(hint(word, known)).toBe(expected);
});
