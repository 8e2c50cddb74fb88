import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalPath } from '../../../../../src/gateway/core/path/path.ts';

const LOGIN = '/api/auth/login';

describe('every spelling of a path has one canonical form', () => {
  test.each([
    '/api/auth/login',
    '/api/auth/login?next=/',
    '/api/auth/login#top',
    '/api/auth/login/',
    '/api/auth/login/?x',
    '/api/auth/login//',
    '//api/auth/login',
    '/api//auth///login',
    '/api/./auth/login/.',
    '/api/x/../auth/login',
    '/../../api/auth/login',
    '/API/Auth/LOGIN',
    '/api/auth/login;jsessionid=1',
    '/api;v=1/auth;a;b/login',
    '/api/auth/..;/auth/login',
    '/%61pi/auth/login',
    '/api%2fauth%2Flogin',
    '/api/%2e%2e/api/auth/login',
    '/api/x/%2e%2e%2fauth/login',
    '/api/%252e%252e/api/auth/login',
    '/%2561pi/auth/login',
    '/api\\auth\\login',
    '/api%5cauth%5Clogin',
    '/api%c0%afauth/login',
    '/api%e0%80%afauth/login',
    '/api/x/%c0%ae%c0%ae/auth/login',
    '/api/auth/login%3bx=1',
    'http://api.example.com/api/auth/login',
    'https://user@api.example.com:443/api/auth/login?x#y',
  ])('%s', (target) => {
    expect(canonicalPath(target, false).path).toBe(LOGIN);
  });
});

describe('different paths stay different', () => {
  test.each([
    ['/', '/'],
    ['', '/'],
    ['*', '/*'],
    ['/?a=/api/auth/login', '/'],
    ['/api/auth/login.json', '/api/auth/login.json'],
    ['/api/auth/login%3Fx', '/api/auth/login?x'],
    ['/api/auth/loginx', '/api/auth/loginx'],
    ['/caf%C3%A9', '/café'],
    ['/caf\xc3\xa9', '/café'],
    ['/caf\xe9', '/café'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a/...', '/a/...'],
    ['/100%', '/100%'],
    ['http://api.example.com', '/'],
  ])('%s is %s', (target, path) => {
    expect(canonicalPath(target, false).path).toBe(path);
  });
});

test('paths are case-sensitive if the policy file says so', () => {
  expect(canonicalPath('/API/login', true).path).toBe('/API/login');
  expect(canonicalPath('/API//login', true).path).toBe('/API/login');
});

test('a plain path has one reading', () => {
  expect(canonicalPath('/api/auth/login?x', false)).toMatchObject({
    path: LOGIN,
    otherReadings: [],
  });
});

test('a plain path ends at its query', () => {
  expect(canonicalPath('/A/b.c?x=/../y', true)).toEqual({
    ...{ path: '/A/b.c', otherReadings: [], unclear: [], malformed: false },
  });
});

test('a colon is plain behind the first segment, where no scheme can be', () => {
  expect(canonicalPath('/v1/jobs:cancel', false).otherReadings).toEqual([]);
  expect(canonicalPath('/jobs:cancel', false).otherReadings).not.toEqual([]);
});

test('a segment that starts with a dot is plain', () => {
  expect(canonicalPath('/.well-known/x', false).otherReadings).toEqual([]);
});

test('a target that starts with a scheme may be a path', () => {
  expect(canonicalPath('http:/x', false)).toMatchObject({
    path: '/x',
    otherReadings: ['/http:/x', '/', 'http:/x'],
  });
});

test('a path without `..` is resolved in one way', () => {
  expect(canonicalPath('/a/.;x/b', false)).toMatchObject({
    path: '/a/b',
    otherReadings: ['/a', '/a/.;x/b'],
  });
});

test('the raw spelling is kept beside the canonical one', () => {
  expect(canonicalPath('/public/../secret?x', false)).toMatchObject({
    path: '/secret',
    otherReadings: ['/public/../secret'],
  });
  expect(canonicalPath('/A//B', false).otherReadings).toEqual(['/a//b']);
  expect(canonicalPath('/A//B', true).otherReadings).toEqual(['/A//B']);
});

describe('each way in which servers read a target is listed', () => {
  test.each([
    ['/api/auth/login;/x', '/api/auth/login/x'],
    ['/api/auth/login;/../../x', '/api/x'],
    ['/api/auth/login%3b/x', '/api/auth/login/x'],
    ['//x/api/auth/login', '/x/api/auth/login'],
    ['/\\x/api/auth/login', '/x/api/auth/login'],
    ['///x/api/auth/login?y', '/x/api/auth/login'],
    ['//x/api/auth/login;/y', '/x/api/auth/login/y'],
    ['/a#/../api/auth/login', '/a'],
    ['/#/../api/auth/login', '/'],
    ['/api/auth//../login', '/api/login'],
    ['/api/auth/;/../login', '/api/login'],
    ['/api/auth/.;x=1/../login', '/api/login'],
    ['/api/auth/..;x=1/../login', '/login'],
    ['/api/auth/login//../..;x/..', '/'],
    ['/api/auth/login/..;x//..', '/api'],
  ])('%s', (target, path) => {
    const canonical = canonicalPath(target, false);
    expect(canonical.path).toBe(path);
    expect(canonical.otherReadings).toContain(LOGIN);
  });
});

describe('spellings that Windows, Unicode or a URL parser reads as the same name', () => {
  test.each([
    '/api/auth/login.',
    '/api/auth/login...',
    '/api./auth/login',
    '/api/auth/login%20',
    '/api/auth/login .',
    '/api/ auth/login',
    '/api/auth/login/..%20',
    '/api/x/..%20/auth/login',
    '/api/auth/%ef%bd%8cogin',
    '/api%ef%bc%8fauth/login',
    '/api%e2%88%95auth/login',
    '/api%e2%81%84auth/login',
    '/api%e2%88%96auth/login',
    '/api%e2%a7%b5auth/login',
    '/api%e2%a7%b8auth/login',
    '/api/auth/l%09ogin',
    '/api/auth/%u006cogin',
    '/api/auth%u2215login',
    '/api/auth/%f0%80%81%acogin',
    '/api/auth/%c1%ac%ef%bd%8fgin',
    '/api/auth/login%3fx',
    '/api/auth/log%c4%b1n',
    '/api/auth/login%ef%bb%bf',
    '/api/auth/login%e2%80%a8',
    '/http:/api/auth/login',
    '//http://example.com/api/auth/login',
    '/HTTP://example.com/api/auth/login',
    '/api/auth/login%23x',
    '/api/auth;x=1/login;%f0%80%80%afx',
    '/api/auth/x/..;/login;\\x',
    'http:/api/auth/login',
    'http:/example.com/api/auth/login',
    'http://example.com\\api\\auth\\login',
  ])('%s', (target) => {
    const { path, otherReadings } = canonicalPath(target, false);
    expect([path, ...otherReadings]).toContain(LOGIN);
  });
});

test('an encoded slash may be part of a segment', () => {
  for (const target of ['/a%2fb/%6cogin', '/a%5cb/%6cogin', '/a%252fb/%6cogin', '/./a%2fb/login']) {
    expect(canonicalPath(target, false).otherReadings).toContain('/a_b/login');
  }
});

test('a file name with a dot is plain', () => {
  expect(canonicalPath('/a.b/c.txt?x', false)).toMatchObject({
    path: '/a.b/c.txt',
    otherReadings: [],
  });
});

describe('the work is bounded for any target', () => {
  const EXPENSIVE: Readonly<Record<string, string>> = {
    dots: `/${'.'.repeat(64)}x/y.`,
    blanks: '/%20x/%20',
    slashes: '//',
    parameters: ';/',
    'dot segments': '/%2e%2e',
    'percent signs': '%',
    schemes: 'http:a:',
    'marks on one character': '%2f\u0301\u0316',
    'characters that stand for many': '%2f\ufdfa',
    'nested URLs': '//http:%2f%2fa/',
    'every fork at once': '/%252e%252e;a%253f%2523.%20%09/%ef%bd%8c',
    'every fork and a backslash': '%2f%c1%ac;a#b%3fc%20./%ef%bd%8c\\%09',
  };
  for (const [name, part] of Object.entries(EXPENSIVE)) {
    test.each([100, 500, 1_000, 2_000, 2_048, 2_049, 8_000, 60_000])(
      `${name}, %i characters`,
      (length) => {
        const target = `/${part.repeat(Math.ceil(length / part.length))}`.slice(0, length);
        const { path, otherReadings } = canonicalPath(target, false);
        expect(otherReadings.length).toBeLessThanOrEqual(12);
        // The readings that steps return, and the raw spelling.
        expect([path, ...otherReadings].join('').length).toBeLessThanOrEqual(4_096 + 2 * 2_048);
      },
    );
  }
  test.each([
    ['of more than 2 KiB', `//${'a'.repeat(2_047)}`],
    ['of many segments', `${'/'.repeat(66)}api/auth/login`],
    ['of many segments behind dots', `${'/x/..'.repeat(40)}/api/auth/login`],
    ['of segments that only some servers see', `/%2f${'%e2%88%95a'.repeat(80)}/login`],
    ['with parameters without end', `/api/auth/login;${'"'.repeat(20_000)}`],
    ['with many long readings', `//http:%2f%2fa;b#c%3f/${'%252e;'.repeat(150)}`],
  ])('an unusual target %s is refused', (_, target) => {
    expect(canonicalPath(target, false).malformed).toBe(true);
  });
  test.each([
    ['2,048 characters', `/./${'a'.repeat(2_045)}`],
    ['64 segments', '/'.repeat(64)],
    ['12 readings', '/%09%3fc/%ef%bd%8c. %2f'],
    ['21 ligatures of 18 characters', `/${'\ufdfa'.repeat(21)}`],
    ['384 characters beyond ASCII', `/${'\u00c3\u00a9'.repeat(384)}`],
  ])('a target of %s is read', (_, target) => {
    expect(canonicalPath(target, false).malformed).toBe(false);
  });
  test.each([
    ['2,049 characters', `/./${'a'.repeat(2_046)}`],
    ['65 segments', '/'.repeat(65)],
    ['23 readings', '/http:#b%09%3fc/%ef%bd%8c/%ef%bd%8c. '],
    ['22 ligatures of 18 characters', `/${'\ufdfa'.repeat(22)}`],
    ['385 characters beyond ASCII', `/${'\u00c3\u00a9'.repeat(385)}`],
    ['two readings of 1,600 characters', `/${'a'.repeat(1_600)}%2fb`],
  ])('a target of %s is refused', (_, target) => {
    expect(canonicalPath(target, false).malformed).toBe(true);
  });
  test('at most 30 marks on one character are read', () => {
    const target = `/a${'%cc%a3'.repeat(40)}`;
    const { otherReadings } = canonicalPath(target, false);
    expect(otherReadings).toContain(`/\u1ea1${'\u0323'.repeat(29)}`);
  });
  test('an unusual target below these bounds is read', () => {
    const { otherReadings, unclear } = canonicalPath(`//${'a'.repeat(1_000)}/login`, false);
    expect(otherReadings).toContain('/login');
    expect(unclear).toEqual([]);
  });
  test('a plain target of any length has one reading', () => {
    const target = `/Files/${'aB/'.repeat(20_000)}x?y`;
    expect(canonicalPath(target, false)).toMatchObject({
      path: target.slice(0, -2).toLowerCase(),
      otherReadings: [],
      unclear: [],
    });
  });
});

/** \ud800 stands for any text within a segment, \ud801 for the same or a slash. */
test.each([
  ['/a%2525252561', ['/aa']],
  ['/a;%zz/b', ['/a/b', '/a']],
  ['/a%zz', ['/a\ud801']],
  ['/a%', ['/a\ud801']],
  ['/a%25zz', ['/a\ud801']],
  ['/a%ff', ['/a\ud800', '/a']],
  ['/a\xff', ['/a\ud800', '/a']],
  ['/a%ed%a0%80', ['/a\ud800', '/a']],
  ['/a%ud800', ['/a\ud800', '/a']],
  ['/a\ufffd', ['/a\ud800']],
  ['/a%c0%af', ['/a', '/a\ud800']],
  ['/a%u006cb', ['/alb', '/a\ud800b', '/ab']],
  ['/a%2%66b', ['/a/b', '/a\ud801b']],
  ['/a%2%ff66', ['/a\ud8016', '/a&6']],
  ['/a%/xyb', ['/a\ud801/xyb', '/a\ud801yb']],
  ['/a.%ff', ['/a\ud800', '/a.', '/a']],
  ['/%ff%zz%ff', ['/\ud801']],
])('%s cannot be decoded as a whole', (target, unclear) => {
  expect(canonicalPath(target, false).unclear).toEqual(unclear);
});

test.each(['/50%20', '/a%2520b', '/caf%C3%A9', '/a b', '/%f0%9f%98%80'])(
  '%s can be decoded',
  (target) => {
    expect(canonicalPath(target, false).unclear).toEqual([]);
  },
);

test.each(['/a/.%ff./b', '/a/%../b', '/%ff/../a', '/a%zz../b', '/a/..%zz/b', '/a%ff/b/%2e%2e'])(
  '%s is refused, because what `..` removes is unclear',
  (target) => {
    expect(canonicalPath(target, false).malformed).toBe(true);
  },
);

test('at most 16 places of a path that cannot be decoded are read', () => {
  const of = (places: number) => canonicalPath(`/${'%ff-'.repeat(places)}a`, false);
  expect(of(16).malformed).toBe(false);
  expect(of(17).malformed).toBe(true);
  expect(canonicalPath(`/${'a.\ufffd'.repeat(17)}`, false).malformed).toBe(true);
  expect(canonicalPath(`/${'%zz'.repeat(341)}`, false).unclear).toEqual(['/\ud801']);
  expect(canonicalPath(`/${'%zz'.repeat(342)}`, false).malformed).toBe(true);
});

test.each(['/a%00', '/a%0d', '/a%0a', '/a\r', '/a%0d%0aSet-Cookie:x', '/a%250a'])(
  '%s is malformed',
  (target) => {
    expect(canonicalPath(target, false).malformed).toBe(true);
  },
);

const oddPath = fc
  .array(
    fc.constantFrom(
      '/',
      '.',
      '..',
      '%2e',
      '%2F',
      '%5c',
      '\\',
      ';a',
      'a',
      'B',
      '%61',
      '%25',
      '?',
      '#',
      '%zz',
      '%c0%ae',
      'é',
    ),
    { maxLength: 24 },
  )
  .map((parts) => `/${parts.join('')}`);

test('the canonical path of a canonical path is the same, unless an escape is left', () => {
  fc.assert(
    fc.property(oddPath, (target) => {
      const once = canonicalPath(target, false);
      fc.pre(!/[%?#;]/.test(once.path));
      expect(canonicalPath(once.path, false).path).toBe(once.path);
    }),
  );
});

test('a canonical path starts with a slash and has no dot segment, empty segment or trailing slash', () => {
  fc.assert(
    fc.property(oddPath, (target) => {
      const { path } = canonicalPath(target, false);
      expect(path).toMatch(/^\//);
      if (path !== '/') expect(path).not.toMatch(/\/(\.{0,2})(\/|$)/);
    }),
  );
});
