import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  matchExpression,
  matchesExpression,
} from '../../../../../src/cli/proxy-files/read/expression.ts';

const matches = (expression: string, path: string, ignoresCase = false) =>
  matchesExpression(expression, path, ignoresCase);

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

test('repetitions of repetitions end, with or without an answer', () => {
  for (const expression of [
    '^/(a+)+$',
    '^/((a|b))*$',
    '^/(a|a)*$',
    `${'a*'.repeat(20)}b`,
    '(x(a*)y)+',
  ])
    expect(matches(expression, `/${'a'.repeat(60)}!`)).not.toBe(true);
  expect(matches('^/(((a*)*)*)*$', `/${'a'.repeat(150)}`)).toBe(true);
  for (const nested of ['('.repeat(5_000), '(a'.repeat(500), '(?:'.repeat(300)])
    expect(matches(nested, '/')).toBeUndefined();
});

test('does not match a path that is too long', () => {
  expect(matches('^/a', `/${'a'.repeat(1_000)}`)).toBeUndefined();
});

test('agrees with the engine of JavaScript', () => {
  const atoms = [
    'a',
    '/',
    '.',
    '\\w',
    '\\D',
    '[^/]',
    '[a-c1]',
    '(a|/b)',
    '(?:ab)',
    '(?=/)',
    '(?!a)',
    '\\b',
  ];
  const signs = ['', '', '*', '+', '?', '{2}', '{0,1}', '*?'];
  const expression = fc
    .array(fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...signs)), { maxLength: 5 })
    .map((parts) =>
      parts.map(([atom, sign]) => (/^(\(\?[=!]|\\b)/.test(atom) ? atom : atom + sign)).join(''),
    )
    .chain((body) => fc.constantFrom(body, `^${body}`, `${body}$`, `^${body}$`, `^${body}|x`));
  const path = fc
    .array(fc.constantFrom('a', 'b', '/', '1', '-', '.'), { maxLength: 8 })
    .map((all) => `/${all.join('')}`);
  fc.assert(
    fc.property(expression, path, fc.boolean(), (written, subject, ignoresCase) => {
      const found = matchExpression(written, subject, ignoresCase);
      const expected = new RegExp(written, ignoresCase ? 'i' : '').exec(subject);
      if (found === undefined) return;
      expect(found === null).toBe(expected === null);
    }),
  );
});
