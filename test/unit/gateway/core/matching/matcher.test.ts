import { describe, expect, test } from 'vitest';
import {
  compileMatcher,
  matchable,
  type RouteMatch,
} from '../../../../../src/gateway/core/matching/matcher.ts';

/** The value of each route is its text. */
function matcherOf(...routes: readonly RouteMatch[]) {
  const matcher = compileMatcher(
    routes.map((route) => ({
      ...route,
      value: [route.methods?.join('|'), route.host, route.path].filter(Boolean).join(' ') || 'any',
    })),
  );
  return (method: string, host: string, path: string) => matcher(matchable(method, host, path));
}

describe('the path decides first', () => {
  const match = matcherOf(
    { path: '/users/me' },
    { path: '/users/:id' },
    { path: '/users/:id/posts' },
    { path: '/users/*' },
    { path: '/*' },
  );
  test.each([
    ['/users/me', '/users/me'],
    ['/users/7', '/users/:id'],
    ['/users/7/posts', '/users/:id/posts'],
    ['/users/me/posts', '/users/:id/posts'],
    ['/users/7/likes', '/users/*'],
    ['/users', '/users/*'],
    ['/', '/*'],
    ['/other', '/*'],
  ])('%s matches %s', (path, expected) => {
    expect(match('GET', 'h', path)).toBe(expected);
  });
});

test('a parameter matches a segment of any length', () => {
  const match = matcherOf({ path: '/users/:id' });
  expect(match('GET', 'h', `/users/${'x'.repeat(20_000)}`)).toBe('/users/:id');
});

test('a parameter matches exactly one segment, which is not empty', () => {
  const match = matcherOf({ path: '/:id' }, { path: '/a/:id' });
  expect(match('GET', 'h', '/a')).toBe('/:id');
  expect(match('GET', 'h', '/')).toBeUndefined();
  expect(match('GET', 'h', '/a/b/c')).toBeUndefined();
});

test('characters of escapes are matched like all others', () => {
  const match = matcherOf({ path: '/a' }, { path: '/100/:p' });
  expect(match('GET', 'h', '/a?b')).toBeUndefined();
  expect(match('GET', 'h', '/a#b')).toBeUndefined();
  expect(match('GET', 'h', '/%61')).toBeUndefined();
  expect(match('GET', 'h', '/100/%zz')).toBe('/100/:p');
});

test.each(['%61', '?', '#', '%'])('%s is matched like other characters each time', (special) => {
  const match = matcherOf({ path: '/x/:p/a' }, { path: '/x/:p/:q' });
  for (const first of ['b', special, special + special]) {
    expect(match('GET', 'h', `/x/${first}/a`)).toBe('/x/:p/a');
    expect(match('GET', 'h', `/x/${first}/a${special}b`)).toBe('/x/:p/:q');
    expect(match('GET', 'h', `/x/${first}/${special}`)).toBe('/x/:p/:q');
  }
});

test('a colon inside a segment does not start a parameter', () => {
  const match = matcherOf({ path: '/v1/jobs:cancel' });
  expect(match('GET', 'h', '/v1/jobs:cancel')).toBe('/v1/jobs:cancel');
  expect(match('GET', 'h', '/v1/jobs7')).toBeUndefined();
});

describe('methods', () => {
  const match = matcherOf(
    { methods: ['POST', 'PUT'], path: '/a' },
    { path: '/a' },
    { methods: ['GET'], path: '/:x' },
  );
  test('a route with the method is more specific than one without methods', () => {
    expect(match('POST', 'h', '/a')).toBe('POST|PUT /a');
    expect(match('PUT', 'h', '/a')).toBe('POST|PUT /a');
    expect(match('DELETE', 'h', '/a')).toBe('/a');
  });
  test('the path is decided before the method', () => {
    expect(match('GET', 'h', '/a')).toBe('/a');
  });
  test('a HEAD matches a GET, and a GET matches a HEAD', () => {
    expect(match('HEAD', 'h', '/b')).toBe('GET /:x');
    expect(matcherOf({ methods: ['HEAD'], path: '/b' })('GET', 'h', '/b')).toBe('HEAD /b');
  });
  test('an unknown method matches routes without methods', () => {
    expect(match('BREW', 'h', '/a')).toBe('/a');
    expect(match('BREW', 'h', '/b')).toBeUndefined();
  });
  test('a more specific path for another method does not hide a matching route', () => {
    const other = matcherOf({ methods: ['POST'], path: '/users/me' }, { path: '/users/:id' });
    expect(other('GET', 'h', '/users/me')).toBe('/users/:id');
  });
});

describe('hosts', () => {
  const match = matcherOf(
    { host: 'api.example.com', path: '/a' },
    { host: '*.example.com', path: '/a' },
    { host: '*.com', path: '/a' },
    { path: '/a' },
    { path: '/a/b' },
    { host: 'api.example.com', path: '/a/*' },
  );
  test.each([
    ['api.example.com', 'api.example.com /a'],
    ['API.Example.COM:8443', 'api.example.com /a'],
    ['api.example.com.', 'api.example.com /a'],
    ['www.example.com', '*.example.com /a'],
    ['deep.www.example.com', '*.example.com /a'],
    ['example.com', '*.com /a'],
    ['example.org', '/a'],
    ['', '/a'],
    ['[::1]:80', '/a'],
  ])('%s matches %s', (host, expected) => {
    expect(match('GET', host, '/a')).toBe(expected);
  });
  test('the path is decided before the host', () => {
    expect(match('GET', 'api.example.com', '/a/b')).toBe('/a/b');
  });
});
