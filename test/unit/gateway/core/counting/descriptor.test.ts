import { expect, describe as group, test } from 'vitest';
import {
  describe,
  descriptor,
  keysOf,
  partitionOf,
} from '../../../../../src/gateway/core/counting/descriptor.ts';
import type { ClientIdentity } from '../../../../../src/gateway/core/identity/identity.ts';
import { CLOCK_SKEW_MS, DAY_MS } from '../../../../../src/gateway/core/identity/salts.ts';
import type { Limit, Partition, Policy } from '../../../../../src/gateway/core/policy.ts';
import { loginPolicy, policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, NOON_MS, SALTS } from '../../../../support/requests.ts';

const MINUTES_5 = 300_000;

const BY_ADDRESS: ClientIdentity = {
  kind: 'ip',
  partition: 'i.today',
  address: {
    daily: { current: 'i.today', previous: 'i.yesterday' },
    long: { current: 'i.now', previous: 'i.before' },
    wider: [],
  },
  apiKey: undefined,
  user: undefined,
  plan: undefined,
  headers: new Map(),
  access: undefined,
  accessBy: undefined,
  isAmbiguous: false,
  untrustedProxy: false,
  ignoredHeaders: [],
};
const LISTED: ClientIdentity = {
  ...BY_ADDRESS,
  kind: 'api_key',
  apiKey: { partition: 'c.alice', unverified: false },
};
const INVENTED: ClientIdentity = {
  ...BY_ADDRESS,
  kind: 'api_key',
  apiKey: { partition: 'k.new', unverified: true },
};

/** The descriptors as `key limit`. */
function counted(per: Partition, client: ClientIdentity, nowMs = NOON_MS, rate = '5/5min') {
  return describe([loginPolicy(`[{ rate: ${rate}, per: "${per}" }]`)], client, {
    salts: SALTS,
    nowMs,
  }).map(({ key, quota }) => `${key} ${quota.limit}`);
}

group('networks around an IPv6 address', () => {
  const policySet = policySetFrom(`
version: 1
identity: { ip: { ipv6_prefixes: { 64: 1x, 56: 4x, 48: 16x } } }
default: { limits: [5/5min, { rate: 9/1min, per: global }] }`);
  const wider = ['i.56', 'i.48'].map((current) => ({
    daily: { current, previous: undefined },
    long: undefined,
    wider: [],
  }));
  const client = { ...BY_ADDRESS, address: { ...BY_ADDRESS.address, wider } };
  const count = (who: ClientIdentity) =>
    describe(policySet.policies, who, AT_NOON).map(
      ({ key, quota, source }) => `${key} ${quota.limit} ${source.label}`,
    );
  test('are counted too, with rising limits', () => {
    expect(count(client)).toEqual([
      'hg:v1:{i.today}:default:client.300000 5 default',
      'hg:v1:{i.56}:default:client.300000 20 default:ipv6-56',
      'hg:v1:{i.48}:default:client.300000 80 default:ipv6-48',
      'hg:v1:{g}:default:global.60000 9 default:global:1min',
    ]);
  });
  test('are counted for invented keys and not for listed ones', () => {
    expect(count({ ...INVENTED, address: client.address })).toEqual([
      'hg:v1:{k.new}:default:client.300000 5 default',
      'hg:v1:{i.today}:default:client.300000 10 default:unverified',
      'hg:v1:{i.56}:default:client.300000 40 default:unverified:ipv6-56',
      'hg:v1:{i.48}:default:client.300000 160 default:unverified:ipv6-48',
      'hg:v1:{g}:default:global.60000 9 default:global:1min',
    ]);
    expect(count({ ...LISTED, address: client.address })).toHaveLength(2);
  });
});

group('plans', () => {
  const [policy] = policySetFrom(`
version: 1
default: { limits: [5/5min], plans: { pro: [50/5min, 500/1h] } }`).policies;
  const limitsOf = (plan: string | undefined) =>
    describe([policy as Policy], { ...LISTED, plan }, AT_NOON).map(
      ({ key, quota }) => `${key} ${quota.limit}`,
    );
  test('replace the limits and keep the counters of windows that both have', () => {
    expect(limitsOf('pro')).toEqual([
      'hg:v1:{c.alice}:default:client.300000 50',
      'hg:v1:{c.alice}:default:client.3600000 500',
    ]);
  });
  test.each([undefined, 'free', 'constructor'])('%s has the limits of the policy', (plan) => {
    expect(limitsOf(plan)).toEqual(['hg:v1:{c.alice}:default:client.300000 5']);
  });
});

group('the store keys of a partition', () => {
  const { policies } = policySetFrom(`
version: 1
default: { limits: [5/5min, 9/1h], plans: { free: [1/5min], pro: [50/1d, { rate: 9/1h, per: ip }] } }
policies: [{ name: a, match: { path: /a }, limits: [5/5min, { rate: 7/5min, per: ip }] }]`);
  test('are those of all limits and of all plans, each once', () => {
    expect(keysOf('c.x', policies).sort()).toEqual([
      'hg:v1:{c.x}:a:client.300000',
      'hg:v1:{c.x}:a:ip.300000',
      'hg:v1:{c.x}:default:client.300000',
      'hg:v1:{c.x}:default:client.3600000',
      'hg:v1:{c.x}:default:client.86400000',
      'hg:v1:{c.x}:default:ip.3600000',
    ]);
  });
  test('may be those of some limits only', () => {
    expect(keysOf('c.x', policies, ({ per }) => per === 'ip')).toEqual([
      'hg:v1:{c.x}:a:ip.300000',
      'hg:v1:{c.x}:default:ip.3600000',
    ]);
  });
  test('name their partition', () => {
    for (const key of keysOf('c.x', policies)) expect(partitionOf(key)).toBe('c.x');
  });
});

test('a descriptor says if its limit gives back what it takes for a request that is denied', () => {
  const [limit] = loginPolicy('[5/5min]').limits as [Limit];
  expect(descriptor(limit, 'c.x')).not.toHaveProperty('givesBack');
  const afterwards = { unit: undefined, reserve: undefined, unknown: undefined, refund: undefined };
  expect(descriptor({ ...limit, afterwards }, 'c.x')).toMatchObject({ givesBack: true });
});

test('a descriptor says what is usual if its request reserves something else', () => {
  const { policies } = policySetFrom(`
version: 1
identity: { sources: [api_key, ip], verified_headers: [x-reserve] }
default:
  limits:
    - { rate: 1000/1h, algorithm: sliding-window-counter, unit: tokens, reserve: { header: x-reserve }, unknown: 80 }
    - { rate: 1000/1h, algorithm: fixed-window, unit: tokens, reserve: 30 }`);
  const reserved = (headers: Record<string, string>) =>
    describe(policies, { ...LISTED, untrustedProxy: false }, { ...AT_NOON, headers }).map(
      ({ cost, usualCost }) => [cost, usualCost],
    );
  expect(reserved({ 'x-reserve': '5' })).toEqual([
    [5, 80],
    [30, undefined],
  ]);
  expect(reserved({})).toEqual([
    [80, undefined],
    [30, undefined],
  ]);
});

group('the partition that is counted', () => {
  test('is the address of a client without a key', () => {
    expect(counted('client', BY_ADDRESS)).toEqual(['hg:v1:{i.today}:login:client.300000 5']);
  });
  test('is a listed key', () => {
    expect(counted('client', LISTED)).toEqual(['hg:v1:{c.alice}:login:client.300000 5']);
  });
  test('is an invented key and its address, in the counter of the address itself', () => {
    expect(counted('client', INVENTED)).toEqual([
      'hg:v1:{k.new}:login:client.300000 5',
      'hg:v1:{i.today}:login:client.300000 10',
    ]);
  });
  test('is the address for a limit per address, whatever the key', () => {
    expect(counted('ip', INVENTED)).toEqual(['hg:v1:{i.today}:login:ip.300000 5']);
  });
  test('is one for all clients for a global limit', () => {
    expect(counted('global', INVENTED)).toEqual(['hg:v1:{g}:login:global.300000 5']);
  });
  test('is the address for a limit per key if the key is left out', () => {
    expect(counted('api_key', BY_ADDRESS)).toEqual(['hg:v1:{i.today}:login:api_key.300000 5']);
  });
  test('is the address too for a limit per key if the key is invented', () => {
    expect(counted('api_key', INVENTED)).toHaveLength(2);
  });
  test('is the address for a limit per user if the user is left out', () => {
    expect(counted('user', LISTED)).toEqual(['hg:v1:{i.today}:login:user.300000 5']);
  });
  test('is the user alone, also as the client', () => {
    const user: ClientIdentity = { ...INVENTED, kind: 'user', user: 'u.ann' };
    expect(counted('user', user)).toEqual(['hg:v1:{u.ann}:login:user.300000 5']);
    expect(counted('client', user)).toEqual(['hg:v1:{u.ann}:login:client.300000 5']);
    expect(counted('api_key', user)).toHaveLength(2);
  });
  test('is the address of a client behind a CDN', () => {
    const behindCdn = { ...BY_ADDRESS, kind: 'cf_connecting_ip' };
    expect(counted('client', behindCdn)).toEqual(['hg:v1:{i.today}:login:client.300000 5']);
  });
});

group('after midnight', () => {
  const midnight = SALTS.daily.startMs;
  const both = [
    'hg:v1:{i.yesterday}:login:client.300000 5',
    'hg:v1:{i.today}:login:client.300000 5',
  ];
  test.each([
    ['at midnight', 0],
    ['until the window has passed', MINUTES_5],
    ['until it has passed on the clocks of all gateways', MINUTES_5 + CLOCK_SKEW_MS - 1],
  ])("yesterday's pseudonym is counted too: %s", (_, afterMs) => {
    expect(counted('client', BY_ADDRESS, midnight + afterMs)).toEqual(both);
  });
  test("yesterday's pseudonym is not counted any longer than that", () => {
    const afterMs = MINUTES_5 + CLOCK_SKEW_MS;
    expect(counted('client', BY_ADDRESS, midnight + afterMs)).toEqual(both.slice(1));
  });
  test("all limits count under yesterday's pseudonym while one of them looks back to it", () => {
    const policy = loginPolicy('[5/5min, 9/1h]');
    const at = (nowMs: number) => describe([policy], BY_ADDRESS, { salts: SALTS, nowMs });
    expect(at(midnight + 3 * MINUTES_5).map(({ key, previousKey }) => [key, previousKey])).toEqual([
      ['hg:v1:{i.yesterday}:login:client.300000', undefined],
      ['hg:v1:{i.today}:login:client.300000', 'hg:v1:{i.yesterday}:login:client.300000'],
      ['hg:v1:{i.yesterday}:login:client.3600000', undefined],
      ['hg:v1:{i.today}:login:client.3600000', 'hg:v1:{i.yesterday}:login:client.3600000'],
    ]);
    expect(at(midnight + 13 * MINUTES_5)).toHaveLength(2);
  });
  test('keys have no daily pseudonym', () => {
    expect(counted('client', LISTED, midnight)).toEqual(['hg:v1:{c.alice}:login:client.300000 5']);
  });
});

group('a limit per header', () => {
  const tenant = (unverified: boolean): ClientIdentity => ({
    ...BY_ADDRESS,
    headers: new Map([['header:x-tenant', { partition: 'h.acme', unverified }]]),
  });
  test('counts the header alone if the proxy sets it', () => {
    expect(counted('header:x-tenant', tenant(false))).toEqual([
      'hg:v1:{h.acme}:login:header:x-tenant.300000 5',
    ]);
  });
  test('counts the address too if clients can send the header', () => {
    expect(counted('header:x-tenant', tenant(true))).toEqual([
      'hg:v1:{h.acme}:login:header:x-tenant.300000 5',
      'hg:v1:{i.today}:login:header:x-tenant.300000 10',
    ]);
  });
  test('counts the address if the header is missing', () => {
    expect(counted('header:x-tenant', BY_ADDRESS)).toEqual([
      'hg:v1:{i.today}:login:header:x-tenant.300000 5',
    ]);
  });
});

group('a window longer than a day', () => {
  const start = SALTS.long.startMs;
  test('has pseudonyms that last 31 days', () => {
    expect(counted('ip', BY_ADDRESS, start + 20 * DAY_MS, '5/7d')).toEqual([
      'hg:v1:{i.now}:login:ip.604800000 5',
    ]);
  });
  test('has daily pseudonyms if the gateway has no others', () => {
    const daily = { ...BY_ADDRESS, address: { ...BY_ADDRESS.address, long: undefined } };
    const keys = [
      'hg:v1:{i.yesterday}:login:ip.604800000 5',
      'hg:v1:{i.today}:login:ip.604800000 5',
    ];
    expect(counted('ip', daily, NOON_MS, '5/7d')).toEqual(keys);
  });
  test('by the calendar has them too, and both for as long as a month may reach back', () => {
    expect(counted('ip', BY_ADDRESS, start + 30 * DAY_MS, '5/month')).toEqual([
      'hg:v1:{i.before}:login:ip.month.UTC 5',
      'hg:v1:{i.now}:login:ip.month.UTC 5',
    ]);
    const policy = loginPolicy('[{ rate: 5/month, per: ip, zone: Europe/Zurich }]');
    const context = { salts: SALTS, nowMs: start + 30 * DAY_MS };
    expect(describe([policy], BY_ADDRESS, context).map(({ key }) => key)).toEqual([
      'hg:v1:{i.before}:login:ip.month.Europe/Zurich',
      'hg:v1:{i.now}:login:ip.month.Europe/Zurich',
    ]);
  });
  test('of a day in a zone other than UTC has them too', () => {
    const policy = loginPolicy('[{ rate: 5/day, per: ip, zone: Asia/Tokyo }]');
    const context = { salts: SALTS, nowMs: start + 20 * DAY_MS };
    expect(describe([policy], BY_ADDRESS, context).map(({ key }) => key)).toEqual([
      'hg:v1:{i.now}:login:ip.day.Asia/Tokyo',
    ]);
  });
  test('of one day has daily pseudonyms', () => {
    expect(counted('ip', BY_ADDRESS, NOON_MS, '5/1d')).toEqual([
      'hg:v1:{i.yesterday}:login:ip.86400000 5',
      'hg:v1:{i.today}:login:ip.86400000 5',
    ]);
    expect(counted('ip', BY_ADDRESS, NOON_MS, '5/day')).toEqual([
      'hg:v1:{i.yesterday}:login:ip.day.UTC 5',
      'hg:v1:{i.today}:login:ip.day.UTC 5',
    ]);
  });
  test('is counted under the previous pseudonym too while the window reaches back to it', () => {
    expect(counted('ip', BY_ADDRESS, start + 3 * DAY_MS, '5/7d')).toEqual([
      'hg:v1:{i.before}:login:ip.604800000 5',
      'hg:v1:{i.now}:login:ip.604800000 5',
    ]);
  });
});
