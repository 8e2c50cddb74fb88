import { describe, expect, test } from 'vitest';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest } from '../../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /api/auth/login }, limits: [5/5min] }
  - { name: public, match: { path: "/public/*" }, limits: [100000/1h] }
  - { name: strict, match: { path: /strict }, limits: [1/1h, { rate: 5/1d, per: ip }] }
  - { name: everyone, always: true, limits: [{ rate: 10000/1s, per: global }] }
  - { name: writes, always: true, match: { method: POST }, limits: [100/1min] }
`);

function policies(parts: Parameters<typeof checkRequest>[0]) {
  return SET.policiesFor(checkRequest(parts)).map(({ name }) => name);
}

test('the most specific policy applies, and policies marked always', () => {
  expect(policies({ method: 'POST', target: '/api/auth/login' })).toEqual([
    'login',
    'everyone',
    'writes',
  ]);
  expect(policies({ target: '/public/logo.png' })).toEqual(['public', 'everyone']);
});

test('the default applies to a request that matches no policy', () => {
  expect(policies({ target: '/api/auth/login' })).toEqual(['default', 'everyone']);
});

describe('no spelling of a path evades a policy', () => {
  test.each([
    '//api/auth/login',
    '/API/auth/login/',
    '/api/x/..%2fauth/login',
    '/api/auth/login;x',
  ])('%s gets the policy of /api/auth/login', (target) =>
    expect(policies({ method: 'POST', target })[0]).toBe('login'),
  );
  test('if the raw and the canonical path match different policies, both apply', () => {
    expect(policies({ target: '/public/../strict' })).toEqual(['strict', 'everyone', 'public']);
  });
  test('a lax policy for the raw path does not replace the default for the canonical one', () => {
    expect(policies({ target: '/public/../secret' })).toEqual(['default', 'everyone', 'public']);
  });
  test('what cannot be decoded in a path gives it no policies that it does not fit', () => {
    expect(policies({ target: '/public/%zz' })).toEqual(['public', 'everyone']);
    expect(policies({ method: 'POST', target: '/100%' })).toEqual([
      ...['default', 'everyone', 'writes'],
    ]);
  });
  test('a malformed path gets no policy, because it is refused', () => {
    expect(policies({ target: '/public/%00' })).toEqual([]);
  });
});

describe('a request whose path the proxy has changed', () => {
  const changed = (target: string, sentTarget: string) =>
    SET.policiesFor({ ...checkRequest({ target }), sentTarget }).map(({ name }) => name);
  test('gets the policies of both paths, each once', () => {
    expect(changed('/strict', '/public/x')).toEqual(['strict', 'everyone', 'public']);
    expect(changed('/strict', '/x')).toEqual(['strict', 'everyone', 'default']);
    expect(changed('/strict?a', '/%73trict')).toEqual(['strict', 'everyone']);
    expect(changed('/a', '/b')).toEqual(['default', 'everyone']);
  });
  test('is refused if one of them is malformed', () => {
    expect(changed('/public/x', '/%00')).toEqual([]);
    expect(changed('/%00', '/public/x')).toEqual([]);
  });
});

describe('a policy that the proxy names for a route', () => {
  test('replaces the policy that matches', () => {
    expect(policies({ method: 'POST', target: '/api/auth/login', policy: 'public' })).toEqual([
      ...['public', 'everyone', 'writes'],
    ]);
  });
  test('replaces the policies that other readings of the path match', () => {
    expect(policies({ target: '/public/../strict', policy: 'login' })).toEqual([
      ...['login', 'everyone'],
    ]);
  });
  test('does not replace the policies that fit around what cannot be decoded', () => {
    expect(policies({ target: '/stri%ffct', policy: 'public' })).toEqual([
      ...['public', 'everyone', 'strict'],
    ]);
  });
  test('may be the default', () => {
    expect(policies({ target: '/strict', policy: 'default' })).toEqual(['default', 'everyone']);
  });
  test('changes nothing if it does not exist', () => {
    expect(policies({ target: '/strict', policy: 'nothing' })).toEqual(['strict', 'everyone']);
    expect([SET.has('strict'), SET.has('default'), SET.has('nothing')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

test('a policy that always applies is found by any reading of the path, and once', () => {
  const set = policySetFrom(`
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: admin, always: true, match: { path: "/admin/*" }, limits: [9/1h] }
  - { name: admins, match: { path: "/admin/*" }, limits: [9/1h] }`);
  const names = (target: string) =>
    set.policiesFor(checkRequest({ target })).map(({ name }) => name);
  expect(names('/admin/../x')).toEqual(['default', 'admin', 'admins']);
  expect(names('/admin//a')).toEqual(['admins', 'admin']);
  expect(names('/x')).toEqual(['default']);
});

describe('long windows', () => {
  const hasLongWindows = (limits: string) =>
    policySetFrom(`{ version: 1, default: { limits: ${limits} } }`).hasLongWindows;
  test.each([
    ['[9/1d]', false],
    ['[9/25h]', true],
    ['[9/day]', false],
    // Days of other zones overlap three days of UTC, where clocks change.
    ['[{ rate: 9/day, zone: Europe/Zurich }]', true],
    ['[9/month]', true],
    ['[{ rate: 9/year, per: global }]', false],
    ['[9/1h, 9/2d]', true],
    ['[9/1h], plans: { pro: [9/1d] }', false],
    ['[9/1h], plans: { free: [9/1h], pro: [9/7d] }', true],
  ])('limits: %s', (limits, isLong) => {
    expect(hasLongWindows(limits)).toBe(isLong);
  });
});

test('a request without its target gets the strictest policy', () => {
  expect(policies({ target: '/public/x', missing: ['x-original-uri'] })).toEqual(['strict']);
});

describe('a preflight counts for the default and for policies marked always', () => {
  const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
  const preflight = { method: 'OPTIONS', headers };

  test.each(['/public/logo.png', '/strict', '/public/../strict', '/public/%zz'])(
    'not for the policy of %s',
    (target) => {
      expect(policies({ ...preflight, target })).toEqual(['default', 'everyone']);
    },
  );

  test('not for the policy that the proxy names', () => {
    expect(policies({ ...preflight, policy: 'strict' })).toEqual(['default', 'everyone']);
  });

  test('not for policies of MCP calls, nor for one of the method alone', () => {
    const set = policySetFrom(`
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: calls, match: { path: /mcp, mcp: { method: none } }, limits: [5/5min] }
  - { name: options, match: { method: OPTIONS }, limits: [5/5min] }
  - { name: preflights, match: { method: OPTIONS }, always: true, limits: [5/5min] }
`);
    const applied = set.policiesFor(checkRequest({ ...preflight, target: '/mcp' }));
    expect(applied.map(({ name }) => name)).toEqual(['default', 'preflights']);
  });

  test('other OPTIONS requests count for the policy of their path', () => {
    const target = '/strict';
    expect(policies({ method: 'OPTIONS', target })[0]).toBe('strict');
    for (const name of Object.keys(headers)) {
      const others = Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name));
      expect(policies({ method: 'OPTIONS', target, headers: others })[0]).toBe('strict');
    }
    expect(policies({ method: 'POST', target, headers })[0]).toBe('strict');
  });

  test('a malformed path is refused, and one that the proxy does not name gets the strictest', () => {
    expect(policies({ ...preflight, target: '/strict%00' })).toEqual([]);
    expect(policies({ ...preflight, missing: ['x-original-uri'] })).toEqual(['strict']);
  });
});
