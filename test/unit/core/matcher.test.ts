import { describe, expect, test } from 'vitest';
import { compileMatcher, type RouteMatch } from '../../../src/core/matcher.ts';

/** Routes named by what they match. */
function matcherOf(...routes: readonly RouteMatch[]) {
  return compileMatcher(
    routes.map((route) => ({
      ...route,
      value: [route.methods?.join('|'), route.host, route.path].filter(Boolean).join(' ') || 'any',
    })),
  );
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
  ])('%s is held to %s', (path, expected) => {
    expect(match('GET', 'h', path)).toBe(expected);
  });
});

test('a parameter takes a segment of any length', () => {
  const match = matcherOf({ path: '/users/:id' });
  expect(match('GET', 'h', `/users/${'x'.repeat(20_000)}`)).toBe('/users/:id');
});

test('a parameter takes one whole segment and never none', () => {
  const match = matcherOf({ path: '/:id' }, { path: '/a/:id' });
  expect(match('GET', 'h', '/a')).toBe('/:id');
  expect(match('GET', 'h', '/')).toBeUndefined();
  expect(match('GET', 'h', '/a/b/c')).toBeUndefined();
});

test('what is left of an escape is a character like any other', () => {
  const match = matcherOf({ path: '/a' }, { path: '/100/:p' });
  expect(match('GET', 'h', '/a?b')).toBeUndefined();
  expect(match('GET', 'h', '/a#b')).toBeUndefined();
  expect(match('GET', 'h', '/%61')).toBeUndefined();
  expect(match('GET', 'h', '/100/%zz')).toBe('/100/:p');
});

test('a colon inside a segment is a character', () => {
  const match = matcherOf({ path: '/v1/jobs:cancel' });
  expect(match('GET', 'h', '/v1/jobs:cancel')).toBe('/v1/jobs:cancel');
  expect(match('GET', 'h', '/v1/jobs7')).toBeUndefined();
});

describe('methods constrain', () => {
  const match = matcherOf(
    { methods: ['POST', 'PUT'], path: '/a' },
    { path: '/a' },
    { methods: ['GET'], path: '/:x' },
  );
  test('a named method is preferred to any', () => {
    expect(match('POST', 'h', '/a')).toBe('POST|PUT /a');
    expect(match('PUT', 'h', '/a')).toBe('POST|PUT /a');
    expect(match('DELETE', 'h', '/a')).toBe('/a');
  });
  test('the path is decided before the method', () => {
    expect(match('GET', 'h', '/a')).toBe('/a');
  });
  test('a HEAD counts as a GET, whichever of the two is written', () => {
    expect(match('HEAD', 'h', '/b')).toBe('GET /:x');
    expect(matcherOf({ methods: ['HEAD'], path: '/b' })('GET', 'h', '/b')).toBe('HEAD /b');
  });
  test('methods that nobody has heard of match where any does', () => {
    expect(match('BREW', 'h', '/a')).toBe('/a');
    expect(match('BREW', 'h', '/b')).toBeUndefined();
  });
  test('a more specific path for another method does not hide the next best', () => {
    const other = matcherOf({ methods: ['POST'], path: '/users/me' }, { path: '/users/:id' });
    expect(other('GET', 'h', '/users/me')).toBe('/users/:id');
  });
});

describe('hosts constrain', () => {
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
  ])('%s is held to %s', (host, expected) => {
    expect(match('GET', host, '/a')).toBe(expected);
  });
  test('the path is decided before the host', () => {
    expect(match('GET', 'api.example.com', '/a/b')).toBe('/a/b');
  });
});
