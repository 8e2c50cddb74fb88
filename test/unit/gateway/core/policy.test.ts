import { describe, expect, test } from 'vitest';
import { MAX_FIXED_LIMIT, MAX_LIMIT } from '../../../../src/gateway/core/counting/store.ts';
import { strictestOf } from '../../../../src/gateway/core/matching/strictest.ts';
import {
  compilePolicy,
  type Factors,
  type Limit,
  type LimitDefinition,
} from '../../../../src/gateway/core/policy.ts';
import { loginPolicy, policySetFrom } from '../../../support/policies.ts';

const limitOf = (text: string): Limit => loginPolicy(`[${text}]`).limits[0] as Limit;

describe('a limit in words', () => {
  test.each([
    ['1/1s', '1 request per second'],
    ['5/5min', '5 requests per 5 minutes'],
    ['2/1h', '2 requests per hour'],
    ['1/2d', '1 request per 2 days'],
    ['10000/month', '10000 requests per month'],
    ['{ rate: 1/day, zone: Europe/Zurich }', '1 request per day'],
    ['{ rate: 90/1h, algorithm: fixed-window }', '90 requests per hour'],
    [
      '{ rate: 10/1min, algorithm: token-bucket, burst: 20 }',
      '10 requests per minute, at most 20 at once',
    ],
  ])('%s is "%s"', (text, words) => {
    expect(limitOf(text).description).toBe(words);
  });
});

describe('the RateLimit-Policy item of a limit', () => {
  test.each([
    ['5/5min', '"login";q=5;w=300'],
    ['{ rate: 10/1min, algorithm: token-bucket, burst: 20 }', '"login";q=20;w=120'],
    ['{ rate: 7/1min, algorithm: token-bucket, burst: 1 }', '"login";q=1;w=9'],
    ['{ rate: 90/1h, algorithm: fixed-window }', '"login";q=90;w=3600'],
    ['{ rate: 100/day, zone: Europe/Zurich }', '"login";q=100;w=86400'],
    ['5000/week', '"login";q=5000;w=604800'],
    ['{ rate: 10000/month, zone: Europe/Zurich }', '"login";q=10000;w=2678400'],
    ['{ rate: 4294967295/year, per: global }', '"login";q=4294967295;w=31622400'],
  ])('%s: %s', (text, item) => {
    expect(limitOf(text).policyItem).toBe(item);
  });
});

test('only the first limit has the name of its policy alone', () => {
  const { limits } = loginPolicy(
    `[5/5min, { rate: 50/5min, per: ip }, { rate: 9/1h, algorithm: token-bucket },
      { rate: 9/1d, algorithm: fixed-window }, 9/day, { rate: 9/day, zone: Europe/Zurich }]`,
  );
  expect(limits.map(({ label }) => label)).toEqual([
    'login',
    'login:ip:5min',
    'login:client:1h:bucket',
    'login:client:1d:fixed',
    'login:client:day',
    'login:client:day@Europe/Zurich',
  ]);
});

test('the store key names the share, the window and the algorithm, but not the limit', () => {
  expect(limitOf('5/5min').keySuffix).toBe('}:login:client.300000');
  expect(limitOf('{ rate: 9/5min, algorithm: sliding-window-counter }').keySuffix).toBe(
    '}:login:client.300000.counter',
  );
  expect(limitOf('{ rate: 9/5min, algorithm: fixed-window }').keySuffix).toBe(
    '}:login:client.300000.fixed',
  );
  expect(limitOf('10000/month').keySuffix).toBe('}:login:client.month.UTC');
  expect(limitOf('{ rate: 9/month, zone: Europe/Zurich }').keySuffix).toBe(
    '}:login:client.month.Europe/Zurich',
  );
});

describe('the address of a client with an unverified key has a limit', () => {
  test.each(['client', 'api_key', '"header:x-tenant"'])('per %s', (per) => {
    const limit = limitOf(`{ rate: 5/5min, per: ${per} }`);
    expect(limit.unverified).toMatchObject({
      label: 'login:unverified',
      quota: { limit: 10, burst: 10 },
      unverified: undefined,
    });
  });
  test.each(['ip', 'user', 'global'])('not per %s', (per) => {
    expect(limitOf(`{ rate: 5/5min, per: ${per} }`).unverified).toBeUndefined();
  });
});

describe('factors', () => {
  const compiled = (limit: number, factors: Factors) => {
    const written: LimitDefinition = {
      ...{ algorithm: 'token-bucket', limit, windowMs: 60_000, burst: limit },
      ...{ countRejected: true, per: 'client', window: '1min' },
    };
    const definition = {
      ...{ name: 'a', cost: 3, onStoreFailure: 'deny' as const },
      ...{ limits: [written], plans: new Map([['pro', [written]]]) },
    };
    return compilePolicy(definition, factors);
  };
  test('multiply limit and burst, for keys and networks together', () => {
    const { limits } = compiled(10, {
      unverified: 2,
      widerNetworks: [{ prefixBits: 56, factor: 5 }],
    });
    expect(limits[0]?.wider[0]).toMatchObject({
      label: 'a:ipv6-56',
      description: '50 requests per minute, at most 50 at once from one IPv6 /56 network',
      quota: { limit: 50, burst: 50, windowMs: 60_000, countRejected: true },
    });
    expect(limits[0]?.unverified?.wider[0]).toMatchObject({
      label: 'a:unverified:ipv6-56',
      quota: { limit: 100, burst: 100 },
    });
  });
  test('never lift a limit beyond what stores count exactly', () => {
    const { limits } = compiled(MAX_LIMIT, { unverified: 2, widerNetworks: [] });
    expect(limits[0]?.unverified?.quota).toMatchObject({ limit: MAX_LIMIT, burst: MAX_LIMIT });
  });
  test('lift fixed windows up to the largest number that they count', () => {
    const { limits } = loginPolicy('[3000000000/month, 3/1h]');
    expect(limits[0]?.unverified?.quota).toMatchObject({
      limit: MAX_FIXED_LIMIT,
      burst: MAX_FIXED_LIMIT,
      calendar: limits[0]?.quota.calendar,
    });
    expect(limits[1]?.unverified?.quota).not.toHaveProperty('calendar');
  });
  test('every limit knows its policy and its cost, those of plans too', () => {
    const policy = compiled(10, { unverified: 2, widerNetworks: [] });
    expect(policy).toMatchObject({ name: 'a', mode: 'enforce', onStoreFailure: 'deny' });
    for (const limit of [policy.limits[0], policy.plans.get('pro')?.[0]]) {
      expect(limit?.policy).toBe(policy);
      expect(limit?.unverified?.policy).toBe(policy);
      expect(limit?.cost).toBe(3);
    }
  });
});

describe('the strictest policy', () => {
  const strictest = (policies: string) =>
    strictestOf(
      policySetFrom(`{ version: 1, default: { limits: [1000/1s] }, policies: [${policies}] }`)
        .policies,
    )?.name;
  const named = (name: string, rest: string) =>
    `{ name: ${name}, match: { path: /${name} }, ${rest} }`;
  test('has the lowest rate, not the lowest limit', () => {
    expect(strictest(`${named('a', 'limits: [5/1s]')}, ${named('b', 'limits: [50/1h]')}`)).toBe(
      'b',
    );
  });
  test('has the lowest rate of requests, so the cost counts', () => {
    const costly = named('b', 'cost: 10, limits: [50/1h]');
    expect(strictest(`${named('a', 'limits: [10/1h]')}, ${costly}`)).toBe('b');
  });
  test('may have its lowest rate in any of its limits', () => {
    expect(
      strictest(`${named('a', 'limits: [10/1h]')}, ${named('b', 'limits: [50/1s, 1/1h]')}`),
    ).toBe('b');
  });
  test('is not chosen by a limit that all clients share', () => {
    const shared = named('b', 'limits: [{ rate: 1/1d, per: global }]');
    expect(strictest(`${shared}, ${named('a', 'limits: [10/1h]')}`)).toBe('a');
  });
  test('is enforced', () => {
    const shadow = named('b', 'mode: shadow, limits: [1/1d]');
    expect(strictest(`${shadow}, ${named('a', 'limits: [10/1h]')}`)).toBe('a');
  });
  test('is the first of equals', () => {
    expect(strictest(`${named('a', 'limits: [10/1h]')}, ${named('b', 'limits: [10/1h]')}`)).toBe(
      'a',
    );
  });
  test('is the first policy if no policy is enforced', () => {
    const policies = [loginPolicy('[5/1h]'), loginPolicy('[1/1h]')];
    expect(strictestOf(policies, () => false)).toBe(policies[0]);
    expect(strictestOf([])).toBeUndefined();
  });
});
