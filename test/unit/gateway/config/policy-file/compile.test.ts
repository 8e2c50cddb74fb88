/** What the keys of a policy file become in the policy set. */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, checkRequest, NOON_MS } from '../../../../support/requests.ts';

const LIMITS = 'limits: [1000/1h]';
const DEFAULT = `default: { ${LIMITS} }`;
const fileOf = (sections: string) => policySetFrom(`{ version: 1, ${sections} }`);
const policyOf = (entry: string) => fileOf(`default: { ${entry} }`).fallback;

test('a token bucket holds its burst, or the number of its rate', () => {
  const bucket = (rest: string) =>
    policyOf(`limits: [{ rate: 600/1min, algorithm: token-bucket${rest} }]`).limits[0]?.quota;
  expect(bucket(', burst: 20')).toMatchObject({ limit: 600, windowMs: 60_000, burst: 20 });
  expect(bucket('')).toMatchObject({ limit: 600, burst: 600 });
});

test('count_rejected, cost, mode and on_store_failure reach the policy', () => {
  const policy = policyOf(
    'limits: [{ rate: 10/1min, count_rejected: true }], cost: 3, mode: shadow, on_store_failure: deny',
  );
  expect(policy).toMatchObject({ mode: 'shadow', onStoreFailure: 'deny' });
  expect(policy.limits[0]).toMatchObject({ cost: 3, quota: { countRejected: true } });
  expect(policyOf(LIMITS)).toMatchObject({ mode: 'enforce', onStoreFailure: 'allow' });
  expect(policyOf(LIMITS).limits[0]).toMatchObject({ cost: 1, quota: { countRejected: false } });
});

test('plans replace the limits of a policy', () => {
  const policy = policyOf(`${LIMITS}, plans: { pro: [20000/1h, { rate: 9/1s, per: ip }] }`);
  expect(policy.plans.get('pro')).toMatchObject([
    { quota: { limit: 20_000 }, per: 'client' },
    { quota: { limit: 9 }, per: 'ip' },
  ]);
});

test('unverified_factor and the factors of wider networks raise the limit', () => {
  const { fallback } = fileOf(
    `identity: { api_key: { unverified_factor: 5 }, ip: { ipv6_prefixes: { 64: 1x, 56: 4x, 48: 16x } } }, ${DEFAULT}`,
  );
  const [limit] = fallback.limits;
  expect(limit?.unverified?.quota.limit).toBe(5_000);
  expect(limit?.wider.map(({ quota }) => quota.limit)).toEqual([4_000, 16_000]);
});

test('answers are taken from the file, or have their defaults', () => {
  const text = `answers: { reset: delta, retry_after_jitter_seconds: 9, body: problem+json }, ${DEFAULT}`;
  expect(fileOf(text).answers).toEqual({
    reset: 'delta',
    retryAfterJitterSeconds: 9,
    body: 'problem+json',
  });
  expect(fileOf(DEFAULT).answers).toEqual({
    reset: 'epoch',
    retryAfterJitterSeconds: 0,
    body: 'json',
  });
});

test.each([
  ['', [64]],
  ['ip: { ipv6_prefix: 56 }', [56]],
  ['ip: { ipv6_prefixes: { 48: 9x, 64: 1x } }', [64, 48]],
])('identity: { %s } counts the prefixes %j', (text, prefixes) => {
  expect(fileOf(`identity: { ${text} }, ${DEFAULT}`).naming.ipv6Prefixes).toEqual(prefixes);
});

test('only the configured list of forwarded addresses is read', () => {
  const clientOf = (header: string) => {
    const { identify } = fileOf(
      `identity: { sources: [ip], trusted_proxies: [loopback, 10.0.0.0/8], forwarded_header: ${header} }, ${DEFAULT}`,
    );
    const addresses = {
      client: '10.0.0.1',
      forwardedFor: '203.0.113.1',
      forwarded: 'for=203.0.113.2',
    };
    return identify(checkRequest(addresses), AT_NOON).partition;
  };
  expect(clientOf('forwarded')).not.toBe(clientOf('x-forwarded-for'));
});

test('the gateway needs the headers of its sources and limits', () => {
  const { neededHeaders } = fileOf(
    `identity: { sources: [api_key, user, cf_connecting_ip, { header: Fastly-Client-IP, from: [192.0.2.0/24] }, { header: true-client-ip, from: proxy }, ip] },
    default: { limits: [{ rate: 1/1s, per: "header:X-Tenant" }], plans: { pro: [{ rate: 1/1s, per: "header:x-team" }] } }`,
  );
  expect(
    neededHeaders.map(({ name, sentBy }) => [
      name,
      sentBy?.('192.0.2.1'),
      sentBy?.('173.245.48.1'),
    ]),
  ).toEqual([
    ['x-api-key', undefined, undefined],
    ['x-user', undefined, undefined],
    ['cf-connecting-ip', false, true],
    ['fastly-client-ip', true, false],
    ['true-client-ip', undefined, undefined],
    ['x-tenant', undefined, undefined],
    ['x-team', undefined, undefined],
  ]);
});

test('the gateway needs the headers by which limits reserve', () => {
  const { neededHeaders } = fileOf(
    `identity: { sources: [ip], verified_headers: [X-Reserve] },
    default: { limits: [{ rate: 9/1h, algorithm: fixed-window, unit: tokens, reserve: { header: X-Reserve }, unknown: 9 }] }`,
  );
  expect(neededHeaders).toEqual([{ name: 'x-reserve', sentBy: undefined }]);
});

test('what a limit charges afterwards is passed on', () => {
  const limitsOf = (limit: string) => fileOf(`default: { limits: [${limit}] }`).fallback.limits;
  expect(limitsOf('5/5min')[0]?.afterwards).toBeUndefined();
  expect(
    limitsOf(
      '{ rate: 9/1h, algorithm: fixed-window, unit: tokens, reserve: 2, unknown: 8, refund: { status: [204, 404], header: { x-login: "1" }, location: /account } }',
    )[0]?.afterwards,
  ).toEqual({
    unit: 'tokens',
    reserve: 2,
    unknown: 8,
    refund: {
      status: new Set([204, 404]),
      headers: new Map([['x-login', '1']]),
      locations: new Set(['/account']),
    },
  });
  expect(limitsOf('{ rate: 9/1h, refund: { status: [204] } }')[0]?.afterwards).toEqual({
    unit: undefined,
    reserve: undefined,
    unknown: undefined,
    refund: { status: new Set([204]), headers: new Map(), locations: new Set() },
  });
});

test('the kind of a client that a header identifies has underscores', () => {
  const { identify } = fileOf(
    `identity: { sources: [{ header: fastly-client-ip, from: proxy }, ip] }, ${DEFAULT}`,
  );
  const headers = { 'fastly-client-ip': '203.0.113.7' };
  expect(identify(checkRequest({ headers }), AT_NOON).kind).toBe('fastly_client_ip');
});

describe('exempt and block', () => {
  const LISTED = `{ id: acme, sha256: ${hash('sha256', 'k', 'hex')} }`;
  const accessOf = (lists: string, nowMs = NOON_MS) => {
    const { identify } = fileOf(
      `identity: { sources: [api_key, ip], api_key: { keys: [${LISTED}] } }, ${DEFAULT}, ${lists}`,
    );
    const request = checkRequest({ client: '203.0.113.9', headers: { 'x-api-key': 'k' } });
    return identify(request, { ...AT_NOON, nowMs }).access;
  };
  test.each([
    ['exempt: [203.0.113.0/24]', 'exempt'],
    ['exempt: [{ key: acme }]', 'exempt'],
    ['block: [203.0.113.9]', 'blocked'],
    ['block: [{ key: acme }]', 'blocked'],
    ['block: [203.0.113.9], exempt: [{ key: acme }]', 'exempt'],
    ['block: [203.0.113.10]', undefined],
  ])('%s', (lists, access) => {
    expect(accessOf(lists)).toBe(access);
  });
  test.each([
    ['2026-12-31', '2026-12-31T00:00:00Z'],
    ['2026-12-31T18:00:00+01:00', '2026-12-31T17:00:00Z'],
  ])('an entry that expires at %s ends at %s', (written, end) => {
    const block = `block: [{ address: 203.0.113.9, expires: ${written} }]`;
    expect(accessOf(block, Date.parse(end) - 1)).toBe('blocked');
    expect(accessOf(block, Date.parse(end))).toBeUndefined();
  });
});

test.each([
  ['api.example.com', 200, 'a'],
  ['www.example.com', 200, 'default'],
])('a policy for a host applies to %s', (host, _, name) => {
  const set = fileOf(
    `${DEFAULT}, policies: [{ name: a, match: { host: api.example.com, path: /a }, limits: [1/1h] }]`,
  );
  const request = { method: 'GET', host, target: '/a', policy: undefined, missing: [] };
  expect(set.policiesFor(request).map((policy) => policy.name)).toEqual([name]);
});

test.each([
  [false, '/LOGIN', 'a'],
  [true, '/LOGIN', 'default'],
  [true, '/Login', 'a'],
])('with case_sensitive %s, %s gets the policy of /Login: %s', (sensitive, target, name) => {
  const set = fileOf(
    `matching: { case_sensitive: ${sensitive} }, ${DEFAULT}, policies: [{ name: a, match: { path: /Login }, limits: [1/1h] }]`,
  );
  const request = { method: 'GET', host: '', target, policy: undefined, missing: [] };
  expect(set.policiesFor(request)[0]?.name).toBe(name);
});

test('a header is verified only if the file says so', () => {
  const { identify } = fileOf(
    `identity: { verified_headers: [X-Tenant] }, default: { limits: [{ rate: 1/1s, per: "header:x-tenant" }, { rate: 1/1s, per: "header:x-team" }] }`,
  );
  const headers = { 'x-tenant': 'a', 'x-team': 'b' };
  const claims = identify(checkRequest({ headers }), AT_NOON).headers;
  expect(claims.get('header:x-tenant')?.unverified).toBe(false);
  expect(claims.get('header:x-team')?.unverified).toBe(true);
});
