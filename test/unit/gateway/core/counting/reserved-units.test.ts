import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CheckRequest } from '../../../../../src/gateway/core/check-request.ts';
import { describe as describeLimits } from '../../../../../src/gateway/core/counting/descriptor.ts';
import type { PolicySet } from '../../../../../src/gateway/core/matching/policy-set.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, checkRequest } from '../../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
identity: { sources: [api_key, ip], verified_headers: [x-reserve], ip: { ipv6_prefixes: { 64: 1x, 48: 3x } } }
default: { limits: [1000/1h] }
policies:
  - name: chat
    match: { path: /chat }
    cost: 2
    limits:
      - { rate: 1000/1h, algorithm: sliding-window-counter, unit: tokens, reserve: { header: x-reserve }, unknown: 800 }
      - { rate: 100/1h, algorithm: token-bucket, burst: 50, per: ip, unit: tokens, reserve: { metadata: envoy.ai.request_info }, unknown: 800 }
      - { rate: 1000/1h, algorithm: fixed-window, per: global, unit: tokens, reserve: 30 }
      - { rate: 60/1min, per: global }
  - { name: fixed, match: { path: /fixed }, cost: 3, limits: [{ rate: 60/1h, algorithm: fixed-window, refund: { status: [204] } }] }`);

function costs(
  request: CheckRequest,
  policies = SET.policies.slice(0, 1),
  set: PolicySet = SET,
): Record<string, number[]> {
  const client = set.identify(request, AT_NOON);
  const { headers, estimates } = request;
  const found: Record<string, number[]> = {};
  for (const { source, cost } of describeLimits(policies, client, {
    ...AT_NOON,
    headers,
    estimates,
  })) {
    found[source.label] = [...(found[source.label] ?? []), cost];
  }
  return found;
}

const asking = (value: string | string[] | undefined, proxy = '127.0.0.1') =>
  checkRequest({ proxy, client: '203.0.113.9', headers: { 'x-reserve': value as string } });

describe('a header of a trusted proxy says what is reserved', () => {
  test.each([
    ['1', 1],
    ['0', 0],
    ['007', 7],
    ['1000', 1_000],
    // At most the limit: more would deny every request.
    ['1001', 1_000],
    ['9'.repeat(400), 1_000],
    // Everything else reserves `unknown`.
    [undefined, 800],
    ['', 800],
    [' 5', 800],
    ['-1', 800],
    ['+1', 800],
    ['1.5', 800],
    ['1e2', 800],
    ['0x10', 800],
    ['５', 800],
    ['5, 5', 800],
    ['1,000', 800],
    [['5', '5'], 800],
    ['NaN', 800],
    ['9'.repeat(9_000), 800],
  ])('%s: %i', (value, expected) => {
    expect(costs(asking(value)).chat).toEqual([expected]);
  });
  test('that of another sender reserves what an unknown value does', () => {
    expect(costs(asking('1', '198.51.100.7')).chat).toEqual([800]);
  });
  test('a doubled one refuses no request', () => {
    expect(SET.identify(asking('5, 5'), AT_NOON).isAmbiguous).toBe(false);
  });
  test('a name of Object.prototype is no header', () => {
    const set = policySetFrom(`
version: 1
identity: { verified_headers: [constructor] }
default: { limits: [{ rate: 1000/1h, algorithm: sliding-window-counter, unit: tokens, reserve: { header: constructor }, unknown: 8 }] }`);
    expect(costs(checkRequest(), [set.fallback], set).default).toEqual([8]);
  });
});

describe('metadata of Envoy says what is reserved', () => {
  const estimating = (tokens: number | undefined, proxy = '127.0.0.1') => ({
    ...checkRequest({ proxy, client: '203.0.113.9' }),
    estimates: tokens === undefined ? undefined : new Map([['envoy.ai.request_info', tokens]]),
  });
  const label = 'chat:ip:1h:bucket:tokens';
  test.each([
    [12, 12],
    [0, 0],
    [51, 50],
    [2 ** 54, 50],
    [Number.POSITIVE_INFINITY, 50],
    [undefined, 50],
    [-1, 50],
    [1.5, 50],
    [Number.NaN, 50],
  ])('%s: %i', (tokens, expected) => {
    expect(costs(estimating(tokens))[label]).toEqual([expected]);
  });
  test('that of another sender reserves what an unknown value does', () => {
    expect(costs(estimating(1, '198.51.100.7'))[label]).toEqual([50]);
  });
});

test('each counter of a limit bounds the reservation by its own number', () => {
  const request = checkRequest({
    client: '2001:db8::1',
    headers: { 'x-api-key': 'invented', 'x-reserve': '1500' },
  });
  expect(costs(request)).toMatchObject({
    chat: [1_000],
    'chat:unverified': [1_500],
    'chat:unverified:ipv6-48': [1_500],
  });
});

test('the cost of a policy applies to its limits without reserve', () => {
  expect(costs(asking('7'))).toMatchObject({
    'chat:global:1h:fixed:tokens': [30],
    'chat:global:1min': [2],
  });
  expect(costs(asking('7'), SET.policies.slice(1, 2))).toEqual({ fixed: [3] });
});

test('without a request, limits reserve what they do for unknown values', () => {
  const client = SET.identify(asking('7'), AT_NOON);
  expect(describeLimits(SET.policies.slice(0, 1), client, AT_NOON).map(({ cost }) => cost)).toEqual(
    [800, 50, 30, 2],
  );
});

test('nothing changes for limits that charge nothing afterwards', () => {
  const rate = fc.record({
    rate: fc.constantFrom('5/5min', '100/1h', '40000/1d', '900/31d'),
    per: fc.constantFrom('client', 'ip', 'api_key', 'global', '"header:x-tenant"'),
    algorithm: fc.constantFrom('sliding-window-log', 'sliding-window-counter', 'fixed-window'),
  });
  const written = fc
    .uniqueArray(rate, {
      minLength: 1,
      maxLength: 4,
      selector: ({ rate: each, per, algorithm }) => `${each.split('/')[1]} ${per} ${algorithm}`,
    })
    .map((all) =>
      all.map((each) => JSON.stringify(each).replaceAll('\\"', '').replaceAll('""', '"')),
    );
  const fileOf = (limits: readonly string[], cost: number) => `
version: 1
identity: { sources: [api_key, ip], verified_headers: [x-reserve] }
default: { limits: [{ rate: 9/1h, algorithm: fixed-window, unit: tokens, reserve: { header: x-reserve }, unknown: 9 }] }
policies: [{ name: api, match: { path: /api }, cost: ${cost}, limits: [${limits.join(', ')}] }]`;
  fc.assert(
    fc.property(written, fc.integer({ min: 1, max: 5 }), fc.string(), (limits, cost, text) => {
      const set = policySetFrom(fileOf(limits, cost));
      const [api] = set.policies;
      if (api === undefined) throw new Error('the policy is missing');
      const headers = { 'x-api-key': 'a', 'x-tenant': 't', 'x-reserve': text };
      const request = checkRequest({ client: '2001:db8::1', headers });
      const client = set.identify(request, AT_NOON);
      const plain = describeLimits([api], client, AT_NOON);
      const estimates = new Map([['envoy.ai.request_info', 7]]);
      expect(describeLimits([api], client, { ...AT_NOON, headers, estimates })).toEqual(plain);
      // Beside a policy that reserves, they stay as they are, too.
      const beside = describeLimits([api, set.fallback], client, {
        ...AT_NOON,
        headers,
        estimates,
      });
      expect(beside.slice(0, plain.length)).toEqual(plain);
      for (const { key, cost: counted, source } of plain) {
        expect(counted).toBe(cost);
        expect(key).toMatch(/^hg:v1:\{[^}]+\}:api:[a-z_:-]+\.\d+(\.counter|\.fixed)?$/);
        expect(source.policyItem).toMatch(/^"[^"]+";q=\d+;w=\d+$/);
        expect(source.description).toMatch(/^\d+ requests per /);
        expect(source.afterwards).toBeUndefined();
      }
    }),
    { numRuns: 50 },
  );
});
