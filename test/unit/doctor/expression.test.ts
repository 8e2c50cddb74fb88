import { expect, test } from 'vitest';
import { matchesExpression } from '../../../src/doctor/proxy-file/expression.ts';

const PATHS = ['/', '/login', '/LOGIN', '/logins', '/login/x', '/a.php', '/aphp', '/api/v1/x'];

/** Whether the expression was read for at least one path. Each reading is compared with the engine's. */
function isRead(expression: string, ignoresCase = false): boolean {
  const answers = PATHS.map((path) => {
    const answer = matchesExpression(expression, { path, ignoresCase });
    const expected = new RegExp(expression, ignoresCase ? 'i' : '').test(path);
    if (answer !== undefined) expect({ path, answer }).toEqual({ path, answer: expected });
    return answer;
  });
  return !answers.includes(undefined);
}

test.each([
  ...['^/login', '/login$', '^/login/?$', '^/log(in|out)$', '^/(?:a|login)(/|$)', '\\.php$'],
  ...['^/logins?', '^/login.*$', '^/login/.*', '^/api/v1/.+', '^/(login|api)?/v1', '\\.(php|js)$'],
  '',
])('reads %s', (expression) => {
  expect(isRead(expression)).toBe(true);
  expect(isRead(expression, true)).toBe(true);
});

test.each(['^/lo[gh]in', '^/a|^/login', '^/login\\d*', '(?!/login)', '^/logi{1}n', '/login*', '.'])(
  'does not say whether %s matches where it cannot read it',
  (expression) => {
    expect(isRead(expression)).toBe(false);
  },
);

test('an expression with another beginning does not match, whatever follows', () => {
  const subject = { path: '/login', ignoresCase: false };
  expect(matchesExpression('^/api/v[0-9]+/', subject)).toBe(false);
});

test('many groups end the reading', () => {
  const subject = { path: '/login', ignoresCase: false };
  expect(matchesExpression(`^/${'(a|b|)'.repeat(100)}`, subject)).not.toBe(true);
});
