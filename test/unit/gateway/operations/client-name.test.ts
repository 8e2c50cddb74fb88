import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  descriptorPartition,
  descriptorPseudonyms,
} from '../../../../src/gateway/core/identity/partition.ts';
import {
  clientNamed,
  decisionIdIn,
  ofDay,
} from '../../../../src/gateway/operations/client-name.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { AT_NOON, checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
identity:
  sources: [api_key, user, ip]
  trusted_proxies: [loopback]
  api_key: { keys: [{ id: acme, sha256: ${hash('sha256', 'listed', 'hex')} }] }
  ip: { ipv6_prefixes: { 64: 1x, 48: 10x } }
default: { limits: [10/1h] }`);

const named = (text: string) => clientNamed(text, SET.naming, SALTS);
const clientOf = (parts: Parameters<typeof checkRequest>[0]) =>
  SET.identify(checkRequest(parts), AT_NOON);

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('a name leads to the partition that requests are counted in', () => {
  test.each([
    ['id:acme', { headers: { 'x-api-key': 'listed' } }],
    ['key:listed', { headers: { 'x-api-key': 'listed' } }],
    ['key:made-up', { headers: { 'x-api-key': 'made-up' } }],
    ['user:bob', { headers: { 'x-user': 'bob' } }],
    ['203.0.113.9', { client: '203.0.113.9' }],
    ['::ffff:203.0.113.9', { client: '203.0.113.9' }],
    ['64:ff9b::203.0.113.9', { client: '203.0.113.9' }],
    ['2001:DB8::1', { client: '2001:db8::2' }],
    ['2001:db8::/64', { client: '2001:db8::2' }],
  ])('%s', (text, parts) => {
    const { partition } = clientOf(parts);
    expect(named(text).own).toContain(partition);
    expect(named(text).overrideName(NOON_MS + HOUR_MS).client).toBe(partition);
    expect(named(partition).own).toEqual([partition]);
  });

  test('a wider network that is counted has its own override', () => {
    const [wider] = clientOf({ client: '2001:db8::1' }).address.wider;
    expect(named('2001:db8::/48').overrideName(NOON_MS + HOUR_MS).client).toBe(
      wider?.daily.current,
    );
    expect(named('2001:db8::1').own).not.toContain(wider?.daily.current);
    expect(named('2001:db8::1').partitions).toContain(wider?.daily.current);
  });
});

describe('an override of an address', () => {
  test('goes by the name of the day while that means something', () => {
    const { daily, long } = clientOf({ client: '203.0.113.9' }).address;
    const nameFor = (ms: number) => named('203.0.113.9').overrideName(NOON_MS + ms);
    expect(nameFor(36 * HOUR_MS)).toEqual({ client: daily.current, isLong: false });
    expect(nameFor(36 * HOUR_MS + 1)).toEqual({ client: long?.current, isLong: true });
    expect(nameFor(31 * DAY_MS)).toEqual({ client: long?.current, isLong: true });
  });

  test('of a descriptor holds for as long as its name does', () => {
    const untilMs = NOON_MS + 30 * DAY_MS;
    const lasting = descriptorPartition('tenant', SALTS.kept);
    expect(named(lasting).overrideName(untilMs)).toEqual({ client: lasting, isLong: false });
    const ofAddress = descriptorPseudonyms('203.0.113.9', SALTS.daily).current;
    expect(() => named(ofAddress).overrideName(untilMs)).toThrow('pseudonym of a descriptor');
  });
  test('that is known by that name alone can hold no longer', () => {
    const { partition } = clientOf({ client: '203.0.113.9' });
    // It may be that of yesterday.
    expect(named(partition).overrideName(NOON_MS + 12 * HOUR_MS).client).toBe(partition);
    expect(() => named(partition).overrideName(NOON_MS + DAY_MS)).toThrow(/name the address/);
    const denied = ofDay(partition, NOON_MS);
    expect(denied.overrideName(NOON_MS + 36 * HOUR_MS).client).toBe(partition);
    expect(() => denied.overrideName(NOON_MS + 37 * HOUR_MS)).toThrow(/name the address/);
  });
});

test.each([
  ['', /unknown client/],
  ['bob', /unknown client/],
  ['i.short', /unknown client/],
  ['user:', /unknown client/],
  ['0177.0.0.1', /unknown client/],
  ['127.1', /unknown client/],
  ['id:acmee', /has this id, did you mean "acme"\?/],
  ['2001:db8::/64/64', /unknown client/],
  ['203.0.113.0/24', /in the policy file/],
  ['203.0.113.9/32', /in the policy file/],
  ['2001:db8::/56', /networks of \/64, \/48$/],
  ['2001:db8::/064', /networks of \/64, \/48$/],
])('%j is refused', (text, why) => {
  expect(() => named(text)).toThrow(why);
});

test('the addresses of trusted proxies are known, also on loopback', () => {
  const { naming } = policySetFrom(`
version: 1
identity: { sources: [ip], trusted_proxies: [loopback, 10.0.0.0/8] }
default: { limits: [10/1h] }`);
  const isProxy = (address: string) => clientNamed(address, naming, SALTS).isProxy;
  expect(['10.0.0.1', '::ffff:10.0.0.1', '127.9.9.9', '::1'].map(isProxy)).toEqual(
    Array(4).fill(true),
  );
  expect(isProxy('203.0.113.9')).toBe(false);
});

test.each([
  ['id:acme', /identity\.sources in the policy file does not have api_key/],
  ['key:listed', /does not have api_key/],
  ['user:bob', /does not have user/],
])('%s names no client if the source is not in use', (text, why) => {
  const { naming } = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [10/1h] }`);
  expect(() => clientNamed(text, naming, SALTS)).toThrow(why);
});

test('the name that answers and the audit log use is the one of today', () => {
  const { daily } = clientOf({ client: '2001:db8::1' }).address;
  expect(named('2001:db8::1').subject).toBe(daily.current);
  expect(named('user:bob').subject).toMatch(/^u\./);
  expect(named(daily.current).subject).toBe(daily.current);
});

test('a refusal does not repeat the name, which may be a key', () => {
  expect(() => named('s3cr3t-key-of-somebody')).toThrow(expect.not.stringContaining('s3cr3t'));
});

test.each(['g', `h.${'a'.repeat(22)}`])('%s is counted, but cannot be blocked', (partition) => {
  expect(named(partition).partitions).toEqual([partition]);
  expect(() => named(partition).overrideName(NOON_MS + 1)).toThrow(/cannot be blocked/);
});

test('the id of a decision is not taken for a client', () => {
  const id = '0f6e2d9c41ab-3';
  for (const text of [
    id,
    ` ${id}\n`,
    `"${id}",`,
    id.toUpperCase(),
    `X-RateLimit-Decision-Id: ${id}`,
    `{"error":"rate_limit_exceeded","retry_after":300,"decision_id":"${id}"}`,
    `decision_id=${id}`,
  ])
    expect(decisionIdIn(text)).toBe(id);
  for (const text of ['0f6e2d9c41ab', '203.0.113.9', 'key:0f6e2d9c41ab-3', '0f6e2d9c41ab-']) {
    expect(decisionIdIn(text)).toBeUndefined();
  }
});
