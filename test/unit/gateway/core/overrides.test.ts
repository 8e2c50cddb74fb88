/** Overrides take precedence over the policy file. */
import { describe, expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../src/gateway/core/check.ts';
import type { Decision } from '../../../../src/gateway/core/counting/decision.ts';
import type { Access } from '../../../../src/gateway/core/identity/access-lists.ts';
import { userPartition } from '../../../../src/gateway/core/identity/partition.ts';
import {
  NO_OVERRIDES,
  type Overrides,
  type PolicyModes,
} from '../../../../src/gateway/core/overrides.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { AT_NOON, checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

const POLICIES = `
version: 1
identity:
  sources: [api_key, user, ip]
  trusted_proxies: [loopback, 10.0.0.0/8]
  ip: { ipv6_prefix: 64 }
exempt: [203.0.113.50]
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [1/1h] }
  - { name: trial, mode: shadow, match: { path: /trial }, limits: [1/1h] }
  - { name: search, match: { path: /search }, limits: [2/1h] }`;

const SET = policySetFrom(POLICIES);

function setUp(overrides: Partial<Overrides> = {}) {
  const wouldDeny: Decision[] = [];
  const store = new MemoryStore({ now: () => NOON_MS, maxKeys: 100 });
  const check = createCheck({
    store,
    local: store,
    salts: { at: () => SALTS },
    overrides: { current: { ...NO_OVERRIDES, ...overrides } },
    newId: (_decision, _client, isShadow) => (isShadow ? 'shadow' : 'an-id'),
    observer: { ...UNOBSERVED, wouldDeny: (decision) => wouldDeny.push(decision) },
  });
  const send = (parts: Parameters<typeof checkRequest>[0]) =>
    check(checkRequest(parts), SET, NOON_MS) as Decision;
  return { send, wouldDeny };
}

const who = (parts: Parameters<typeof checkRequest>[0]) =>
  SET.identify(checkRequest(parts), AT_NOON);
const addressOf = (client: string) => who({ client }).address;
const overridden = (...entries: [string, Access][]) => setUp({ access: new Map(entries) });

describe('a client', () => {
  const client = '203.0.113.9';

  test.each([
    ['today', addressOf(client).daily.current],
    ['yesterday', addressOf(client).daily.previous ?? ''],
    ['this month', addressOf(client).long?.current ?? ''],
    ['last month', addressOf(client).long?.previous ?? ''],
  ])('is blocked by the pseudonym of its address of %s', (_when, name) => {
    const { send } = overridden([name, 'blocked']);
    expect(send({ client })).toMatchObject({ verdict: 'deny', reason: 'blocked' });
    expect(send({ client: '203.0.113.8' }).verdict).toBe('allow');
  });

  test('is blocked by its address, whatever key it sends', () => {
    const { send } = overridden([addressOf(client).daily.current, 'blocked']);
    expect(send({ client, headers: { 'x-api-key': 'made-up' } }).reason).toBe('blocked');
  });

  test('is blocked by its key or user, whatever its address', () => {
    const key = who({ headers: { 'x-api-key': 'alice' } }).apiKey?.partition ?? '';
    const { send } = overridden([key, 'blocked'], [userPartition('bob', SALTS.kept), 'blocked']);
    expect(send({ client, headers: { 'x-api-key': 'alice' } }).reason).toBe('blocked');
    expect(send({ client, headers: { 'x-user': 'bob' } }).reason).toBe('blocked');
    expect(send({ client, headers: { 'x-api-key': 'carol' } }).verdict).toBe('allow');
    // Users are accepted from trusted proxies only.
    expect(send({ proxy: '198.51.100.1', headers: { 'x-user': 'bob' } }).verdict).toBe('allow');
  });

  test('is blocked with its IPv6 network', () => {
    const { send } = overridden([addressOf('2001:db8::1').daily.current, 'blocked']);
    expect(send({ client: '2001:db8::2' }).reason).toBe('blocked');
    expect(send({ client: '2001:db8:0:1::2' }).verdict).toBe('allow');
  });

  test('is exempt if its address is exempt, even if its key is blocked', () => {
    const key = who({ headers: { 'x-api-key': 'alice' } }).apiKey?.partition ?? '';
    const { send } = overridden([addressOf(client).daily.current, 'exempt'], [key, 'blocked']);
    for (let i = 0; i < 3; i++) {
      const decision = send({ client, target: '/login', headers: { 'x-api-key': 'alice' } });
      expect(decision).toMatchObject({ verdict: 'allow', reason: 'exempt' });
    }
  });

  test('is blocked by an override even if the policy file exempts it', () => {
    const { send } = overridden([addressOf('203.0.113.50').daily.current, 'blocked']);
    expect(send({ client: '203.0.113.50' }).reason).toBe('blocked');
    expect(setUp().send({ client: '203.0.113.50' }).reason).toBe('exempt');
  });

  test.each([
    ['NAT64', '64:ff9b::203.0.113.9', 'exempt'],
    ['6to4', '2002:cb00:7109:5::1', 'within_limits'],
    ['Teredo', '2001:0:5:5::34ff:8ef6', 'within_limits'],
  ])('with an exempt IPv4 address that comes by %s: %s is %s', (_form, address, reason) => {
    const { send } = overridden([addressOf(client).daily.current, 'exempt']);
    expect(send({ client: address }).reason).toBe(reason);
    const blocked = overridden([addressOf(client).daily.current, 'blocked']);
    expect(blocked.send({ client: address }).reason).toBe('blocked');
  });

  test('is not exempt by the address of a trusted proxy, which many clients share', () => {
    const { send } = overridden(
      [addressOf('10.0.0.7').daily.current, 'exempt'],
      [addressOf('127.0.0.1').daily.current, 'exempt'],
    );
    expect(send({ proxy: '10.0.0.7' }).reason).toBe('within_limits');
    expect(send({ client: '127.0.0.1' }).reason).toBe('within_limits');
  });
});

describe('a policy', () => {
  const inModes = (...modes: [string, 'enforce' | 'shadow' | 'off'][]) => {
    const map: PolicyModes = new Map(modes);
    return setUp({ modes: map });
  };
  const twice = (send: ReturnType<typeof setUp>['send'], target: string) =>
    [send({ target }), send({ target })].map(({ verdict }) => verdict);

  test('that an override sets to shadow denies no request and reports what it would have denied', async () => {
    const { send, wouldDeny } = inModes(['login', 'shadow']);
    expect(twice(send, '/login')).toEqual(['allow', 'allow']);
    await new Promise((resolve) => setImmediate(resolve));
    expect(wouldDeny).toMatchObject([{ policy: 'login', denial: { id: 'shadow' } }]);
  });

  test('that an override turns off denies no request', () => {
    const { send } = inModes(['login', 'off']);
    expect(twice(send, '/login')).toEqual(['allow', 'allow']);
  });

  test('in shadow mode in the file is enforced by an override', () => {
    const { send } = inModes(['trial', 'enforce']);
    expect(twice(send, '/trial')).toEqual(['allow', 'deny']);
    expect(twice(setUp().send, '/trial')).toEqual(['allow', 'allow']);
  });

  test('that is the strictest and not enforced is replaced by the next strictest, for requests without a path', () => {
    const strictest = (modes: PolicyModes) => {
      const { send } = setUp({ modes });
      const decisions = [1, 2, 3].map(() => send({ missing: ['x-original-uri'] }));
      return decisions.findLast(({ verdict }) => verdict === 'deny')?.policy;
    };
    expect(strictest(NO_OVERRIDES.modes)).toBe('login');
    expect(strictest(new Map([['login', 'off']]))).toBe('search');
    expect(strictest(new Map([['login', 'shadow']]))).toBe('search');
    expect(strictest(NO_OVERRIDES.modes)).toBe('login');
  });
});
