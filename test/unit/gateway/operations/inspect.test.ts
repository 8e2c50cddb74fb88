/** One client: its limits, what is left of them, and its overrides. */
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inspectionText } from '../../../../src/cli/ops-client/client-text.ts';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { headerPartition } from '../../../../src/gateway/core/identity/partition.ts';
import { type OperatedOptions, operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS, SALTS } from '../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
identity:
  sources: [api_key, user, ip]
  trusted_proxies: [loopback]
  api_key:
    header: x-api-key
    keys: [{ id: acme, sha256: ${hash('sha256', 'key-of-acme')}, plan: gold }, { id: globex, sha256: ${hash('sha256', 'key-of-globex')} }]
  ip: { ipv6_prefixes: { 64: 1x, 48: 9x } }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [2/5min, 10/3d] }
  - { name: search, match: { path: /search }, limits: [3/1h], plans: { gold: [30/1h] } }
  - { name: office, match: { path: /office }, limits: [{ rate: 4/1h, per: ip }] }
  - { name: tenant, match: { path: /tenant }, limits: [{ rate: 6/1h, per: 'header:x-tenant' }] }
  - { name: stock, match: { path: /stock }, limits: [{ rate: 5/1h, per: global }] }
  - { name: asleep, mode: 'off', match: { path: /asleep }, limits: [1/1h] }`);

const CLIENT = '203.0.113.9';
const FROM = { peer: CLIENT } as const;
const TERMS = { for: '10min', reason: 'a test', by: 'ada' } as const;

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

const setUp = (options: Partial<OperatedOptions> = {}) =>
  operatedGateway({ policies: SET, now: Date.now, ...options });
type Operated = ReturnType<typeof setUp>;

async function limitsOf({ operate }: Operated, client: string) {
  const { limits } = await operate('inspect', { client });
  return limits.map(({ limit, remaining }) => `${limit} ${remaining}`);
}

describe('an address', () => {
  test('has the limits of a request without key and user, those in use first', async () => {
    const gateway = setUp();
    await gateway.visit({ ...FROM, target: '/search' });
    await gateway.visit({ ...FROM, target: '/search' });
    await gateway.visit({ ...FROM, target: '/login' });
    const { client, limits, overrides, listed, denials, gateways, ...others } =
      await gateway.operate('inspect', {
        client: CLIENT,
      });
    expect(client).toMatch(/^i\.[\w-]{22}$/);
    expect([overrides, listed, denials, others]).toEqual([[], [], [], {}]);
    expect(gateways).toEqual({ asked: 1, answered: 1 });
    expect(limits[0]).toEqual({
      ...{ policy: 'search', mode: 'enforce', limit: 'search', remaining: 1 },
      allows: '3 requests per hour',
      ...{ retry_after_ms: 0, reset_after_ms: 3_600_000 },
    });
    expect(limits.map(({ limit, remaining }) => `${limit} ${remaining}`)).toEqual([
      ...['search 1', 'login 1', 'login:client:3d 9'],
      ...['office 4', 'tenant 6', 'stock 5', 'default 1000'],
    ]);
  });

  test('that is denied says when there is room', async () => {
    const gateway = setUp();
    for (let i = 0; i < 3; i++) await gateway.visit({ ...FROM, target: '/login' });
    const { limits } = await gateway.operate('inspect', { client: CLIENT });
    expect(limits[0]).toMatchObject({ limit: 'login', remaining: 0, retry_after_ms: 300_000 });
  });

  test('of IPv6 has those of its wider networks; a network has its own', async () => {
    const gateway = setUp();
    const peer = '2001:db8::1';
    for (let i = 0; i < 2; i++) await gateway.visit({ peer, target: '/search' });
    expect((await limitsOf(gateway, peer)).slice(0, 2)).toEqual(['search 1', 'search:ipv6-48 25']);
    const wide = await limitsOf(gateway, '2001:db8::/48');
    expect(wide[0]).toBe('search:ipv6-48 25');
    expect(wide).not.toContain('search 1');
  });

  test('by its pseudonym has the limits of a day', async () => {
    const gateway = setUp();
    await gateway.visit({ ...FROM, target: '/login' });
    const { client } = await gateway.operate('inspect', { client: CLIENT });
    const limits = await limitsOf(gateway, client);
    expect(limits[0]).toBe('login 1');
    expect(limits.join()).not.toContain('3d');
  });
});

describe('a key', () => {
  test('that is listed has its id and plan, and the limits of the plan', async () => {
    const gateway = setUp();
    await gateway.visit({ ...FROM, target: '/search', headers: { 'x-api-key': 'key-of-acme' } });
    for (const client of ['id:acme', 'key:key-of-acme']) {
      const found = await gateway.operate('inspect', { client });
      expect(found).toMatchObject({
        ...{ client: expect.stringMatching(/^c\./), client_id: 'acme', plan: 'gold' },
      });
      expect(found.limits[0]).toMatchObject({ policy: 'search', remaining: 29 });
      // The limit per address is not one of the key.
      expect(found.limits.map(({ policy }) => policy)).not.toContain('office');
      const byName = await gateway.operate('inspect', { client: found.client });
      expect(byName).toEqual(found);
    }
    expect(await gateway.operate('inspect', { client: 'id:globex' })).toMatchObject({
      client_id: 'globex',
    });
  });

  test('that is not listed has its own limits, and no id', async () => {
    const gateway = setUp();
    await gateway.visit({ ...FROM, target: '/search', headers: { 'x-api-key': 'invented' } });
    const found = await gateway.operate('inspect', { client: 'key:invented' });
    expect(found.client).toMatch(/^k\./);
    expect(found).not.toHaveProperty('client_id');
    expect(found.limits[0]).toMatchObject({ policy: 'search', remaining: 2 });
  });
});

test('a user has the limits per client', async () => {
  const gateway = setUp();
  await gateway.visit({ ...FROM, target: '/search', headers: { 'x-user': 'bob' } });
  expect((await limitsOf(gateway, 'user:bob'))[0]).toBe('search 2');
});

test('a header value has the limits of its header', async () => {
  const gateway = setUp();
  await gateway.visit({ ...FROM, target: '/tenant', headers: { 'x-tenant': 'blue' } });
  const value = headerPartition('blue', SALTS.kept);
  expect((await limitsOf(gateway, value))[0]).toBe('tenant 5');
});

test('the client of a decision has the limit that denied it, also one of all clients', async () => {
  const gateway = setUp();
  const headers = { 'x-user': 'bob' };
  const denialOf = async (target: string) => {
    for (;;) {
      const { denial } = await gateway.visit({ ...FROM, target, headers });
      if (denial !== undefined) return denial.id;
    }
  };
  const ofAddress = await gateway.operate('inspect', { client: await denialOf('/office') });
  expect(ofAddress.client).toMatch(/^u\./);
  expect(ofAddress.limits[0]).toMatchObject({ policy: 'office', remaining: 0 });
  const ofAll = await gateway.operate('inspect', { client: await denialOf('/stock') });
  expect(ofAll.limits.filter(({ policy }) => policy === 'stock')).toMatchObject([{ remaining: 0 }]);
});

test('overrides of any name of the client are listed', async () => {
  const gateway = setUp();
  await gateway.operate('block', { client: CLIENT, ...TERMS, for: '31d' });
  await gateway.operate('exempt', { client: 'user:bob', ...TERMS });
  const { overrides } = await gateway.operate('inspect', { client: CLIENT });
  expect(overrides).toMatchObject([{ access: 'blocked', reason: 'a test', by: 'ada' }]);
});

test('at most 200 limits are listed, those in use first', async () => {
  const names = Array.from({ length: 500 }, (_, i) => `p${i}`);
  const lines = names.map(
    (name) => `  - { name: ${name}, match: { path: /${name} }, limits: [9/1h] }`,
  );
  const policies = policySetFrom(
    `version: 1\ndefault: { limits: [9/1h] }\npolicies:\n${lines.join('\n')}`,
  );
  const gateway = setUp({ policies });
  await gateway.visit({ ...FROM, target: '/p400' });
  const limits = await limitsOf(gateway, CLIENT);
  expect(limits).toHaveLength(200);
  expect(limits.slice(0, 2)).toEqual(['p400 8', 'p0 9']);
});

test('a policy that an operator turned off or on is left out or shown', async () => {
  const gateway = setUp();
  const policies = async () =>
    (await gateway.operate('inspect', { client: CLIENT })).limits.map(({ policy }) => policy);
  expect(await policies()).not.toContain('asleep');
  await gateway.operate('setMode', { policy: 'search', mode: 'off', ...TERMS });
  await gateway.operate('setMode', { policy: 'asleep', mode: 'enforce', ...TERMS });
  expect(await policies()).not.toContain('search');
  expect(await policies()).toContain('asleep');
});

test('after midnight an address has what is left under both of its names', async () => {
  const gateway = setUp();
  const { salts } = gateway.gateway;
  const MIDNIGHT_MS = SALTS.daily.startMs;
  const { previous } = SALTS.daily;
  const daily = { startMs: MIDNIGHT_MS - 86_400_000, current: previous, previous };
  Object.assign(salts, { at: () => ({ ...SALTS, daily }) });
  vi.setSystemTime(MIDNIGHT_MS - 60_000);
  for (let i = 0; i < 2; i++) await gateway.visit({ ...FROM, target: '/search' });
  Object.assign(salts, { at: () => SALTS });
  vi.setSystemTime(MIDNIGHT_MS + 60_000);
  expect((await limitsOf(gateway, CLIENT))[0]).toBe('search 1');
  await gateway.visit({ ...FROM, target: '/search' });
  expect((await limitsOf(gateway, CLIENT))[0]).toBe('search 0');
});

test('nothing is counted', async () => {
  const gateway = setUp();
  const before = await limitsOf(gateway, CLIENT);
  for (let i = 0; i < 5; i++) expect(await limitsOf(gateway, CLIENT)).toEqual(before);
  expect(gateway.audit).toEqual([]);
});

test('unknown clients are refused without a word of their name', async () => {
  for (const client of ['nobody', 'id:nobody', '203.0.113.0/24', '0123456789ab-1']) {
    await expect(setUp().operate('inspect', { client })).rejects.toMatchObject({
      code: expect.stringMatching(/^(invalid|not_found|not_possible)$/),
    });
  }
});

test('a client is shown without its limits while the store does not answer', async () => {
  const { operate, gateway } = setUp();
  const peek = () => Promise.reject(new StoreError('timeout', 'Redis did not answer in time'));
  Object.assign(gateway, { reader: { peek } });
  await operate('block', { client: CLIENT, ...TERMS });
  expect(await operate('inspect', { client: CLIENT })).toMatchObject({
    ...{ access: 'blocked', overrides: [{ by: 'ada' }], limits: [] },
    limits_unavailable: 'Redis did not answer in time.',
  });
});

test.each(['203.0.113.0/28', '2001:db8::/56'])(
  '%s is a range, of which one address can be shown',
  async (client) => {
    const { operate } = setUp();
    const refusal = (use: string) => ({
      code: 'not_possible',
      message: `a range is not one client: ${use} one address of it, or an IPv6 network of /64, /48`,
    });
    await expect(operate('inspect', { client })).rejects.toMatchObject(refusal('show'));
    await expect(operate('reset', { client })).rejects.toMatchObject(refusal('reset'));
  },
);

const PLAN_OF_PROXY = 'plan: { header: x-plan }\n  verified_headers: [x-plan]';
test.each([
  [PLAN_OF_PROXY, 'user:paula', true],
  [PLAN_OF_PROXY, CLIENT, undefined],
  ['', 'user:paula', undefined],
])('with %j, limits of %s are those without a plan: %s', async (plan, client, unseen) => {
  const policies = policySetFrom(`
version: 1
identity:
  sources: [user, ip]
  trusted_proxies: [loopback]
  user: { header: x-user }
  ${plan}
default: { limits: [10/1h], plans: { pro: [50/1h] } }`);
  const shown = await setUp({ policies }).operate('inspect', { client });
  expect(shown.is_plan_unseen).toBe(unseen);
  const note = /^plan +the proxy names the plan of each request, which is not known here/;
  const lines = inspectionText(shown, NOON_MS);
  expect(lines.some((line) => note.test(line))).toBe(unseen === true);
});
