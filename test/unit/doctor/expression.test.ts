import { expect, test } from 'vitest';
import { matchesExpression } from '../../../src/doctor/proxy-file/expression.ts';

const matches = (expression: string, path: string, ignoresCase = false) =>
  matchesExpression(expression, { path, ignoresCase });

test.each([
  ['^/login', '/logins', true],
  ['^/login$', '/logins', false],
  ['^/lo[gh]in\\d*', '/login12', true],
  ['^/a|^/login', '/login', true],
  ['^/api/v[0-9]+/', '/login', false],
  ['\\.(php|js)(/|$)', '/a.php/x', true],
  ['^/(?<lang>[a-z]{2})/(.*)$', '/en/login', true],
  ['^/(?P<lang>[a-z]{2})/', '/en/login', true],
  ['(?!/login)^/', '/login', false],
  ['(?i)^/LOGIN', '/login', true],
  ['', '/', true],
])('%s for %s', (expression, path, answer) => {
  expect(matches(expression, path)).toBe(answer);
});

test('ignores case where the proxy does', () => {
  expect([matches('^/LOGIN', '/login'), matches('^/LOGIN', '/login', true)]).toEqual([false, true]);
});

test.each(['^/(', '(?>a)', '\\A/login', '^/[[:alpha:]]+$', '^/(?#why)login', '(?i:a)', '(*ANY)a'])(
  'does not say whether %s matches, which JavaScript reads in another way',
  (expression) => {
    expect(matches(expression, '/login')).toBeUndefined();
  },
);

test.each([
  ...['(a+)+$', '((a|b))*$', '(a|a)*$', `${'a*'.repeat(20)}b`, '(?:(?:a{1,9}){1,9}){1,9}$'],
  '(x(a*)y)+',
])('does not run %s, which could take long', (expression) => {
  expect(matches(expression, '/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')).toBeUndefined();
});

test('does not run an expression on a path that is too long', () => {
  expect(matches('^/a', `/${'a'.repeat(1_000)}`)).toBeUndefined();
});
