/** Which requests a route of Envoy takes, and what is set for a filter on it. */
import { expect, test } from 'vitest';
import {
  isCertain,
  isNarrow,
  mayMatch,
  pathOf,
  routeName,
  settingsOf,
} from '../../../../../../src/cli/proxy-files/read/envoy/route.ts';

test.each<[object, string, boolean | undefined]>([
  [{ prefix: '/a' }, '/ab', true],
  [{ prefix: '/a' }, '/b', false],
  [{ prefix: '/A' }, '/a', false],
  [{ prefix: '/A', case_sensitive: false }, '/ab', true],
  [{ path: '/a' }, '/a', true],
  [{ path: '/a' }, '/ab', false],
  [{ path: '/a', case_sensitive: false }, '/A', true],
  [{ path: '/a', case_sensitive: true }, '/A', false],
  [{ path_separated_prefix: '/a' }, '/a', true],
  [{ path_separated_prefix: '/a' }, '/a/b', true],
  [{ path_separated_prefix: '/a' }, '/ab', false],
  [{ path_separated_prefix: '/a' }, '/', false],
  [{ safe_regex: { regex: '/a|/b' } }, '/a', true],
  [{ safe_regex: { regex: '/[ab]' } }, '/c', false],
  [{ safe_regex: { regex: '/[ab]' } }, '/ab', false],
  [{ headers: [] }, '/a', true],
])('%j takes %s: %s', (match, path, takes) => {
  expect(mayMatch(match, path)).toBe(takes);
});

test('a route with other conditions is not certain to take a request', () => {
  expect(isCertain({ prefix: '/', case_sensitive: false })).toBe(true);
  expect(isCertain({ prefix: '/', headers: [] })).toBe(false);
  expect(isCertain(undefined)).toBe(false);
});

test('a route is narrow if it takes some paths, and all requests for them', () => {
  expect(isNarrow({ path: '/' })).toBe(true);
  expect(isNarrow({ prefix: '/a' })).toBe(true);
  expect(isNarrow({ prefix: '/' })).toBe(false);
  expect(isNarrow({ prefix: '/a', headers: [] })).toBe(false);
  expect(isNarrow({})).toBe(false);
});

test('a route is called by its path', () => {
  expect(pathOf({ prefix: '/a' })).toBe('/a');
  expect(routeName({ path: '/b' })).toBe('the route for /b');
  expect(routeName({ path_separated_prefix: '/c' })).toBe('the route for /c');
  expect(routeName({ safe_regex: { regex: 'x' } })).toBe('the route for this expression');
});

const TYPE = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute';
const NOTHING = {
  ...{ filter: 'f', isOff: false, hasRequestId: false, policy: undefined },
  ...{ hasService: false, isExtAuthz: false },
};
const setting = (value: object) => settingsOf({ typed_per_filter_config: { f: value } } as never);

test.each<[object, Partial<typeof NOTHING> | { policy: string }]>([
  [{}, {}],
  [{ '@type': TYPE }, { isExtAuthz: true }],
  [{ '@type': 'type.googleapis.com/other.PerRoute' }, {}],
  [
    { '@type': TYPE, disabled: true },
    { isExtAuthz: true, isOff: true },
  ],
  [{ disabled: false }, {}],
  // envoy.config.route.v3.FilterConfig
  [
    { disabled: true, config: { '@type': TYPE } },
    { isExtAuthz: true, isOff: true },
  ],
  [{ config: { '@type': TYPE, disabled: true } }, { isExtAuthz: true, isOff: true }],
  [{ check_settings: { context_extensions: { request_id: 'x' } } }, { hasRequestId: true }],
  [{ check_settings: { context_extensions: { policy: 'login' } } }, { policy: 'login' }],
  [{ check_settings: { http_service: {} } }, { hasService: true }],
  [{ check_settings: { grpc_service: {} } }, { hasService: true }],
])('%j', (value, expected) => {
  expect(setting(value)).toEqual([{ ...NOTHING, ...expected }]);
});

test('a level without settings has none', () => {
  expect(settingsOf({} as never)).toEqual([]);
});
