/** Every operation, on a gateway in this process. */
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreError, type StoreErrorReason } from '../../../../src/gateway/core/counting/store.ts';
import type { Policy } from '../../../../src/gateway/core/policy.ts';
import { replyTo } from '../../../../src/gateway/operations/denial-queries.ts';
import {
  OPERATIONS,
  type OperationName,
} from '../../../../src/gateway/operations/operation-table.ts';
import { MAX_OVERRIDES } from '../../../../src/gateway/stores/overrides/override.ts';
import { type OperatedOptions, operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
identity:
  sources: [api_key, user, ip]
  trusted_proxies: [loopback, 10.0.0.1]
  api_key: { keys: [{ id: acme, sha256: ${hash('sha256', 'key-of-acme', 'hex')}, plan: pro }] }
  ip: { ipv6_prefixes: { 64: 1x, 48: 9x } }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [2/5min], plans: { pro: [3/5min] } }
  - { name: search, match: { path: /search }, limits: [3/1h], on_store_failure: deny }
  - { name: trial, mode: shadow, match: { path: /trial }, limits: [1/1h] }
  - { name: office, match: { path: /office }, limits: [{ rate: 1/1h, per: ip }] }
  - { name: stock, match: { path: /stock }, limits: [{ rate: 2/1h, per: global }] }
  - { name: upload, match: { path: /upload }, limits: [{ rate: 2/1h, per: api_key }] }`);

const CLIENT = '203.0.113.9';
const LOGIN = { target: '/login', peer: CLIENT } as const;
const TERMS = { for: '10min', reason: 'a test', by: 'ada' } as const;
const IN_TEN_MINUTES = new Date(NOON_MS + 600_000).toISOString();
const LATER = '2026-11-21T12:00:00.000Z';

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

const setUp = (options: Partial<OperatedOptions> = {}) =>
  operatedGateway({ policies: SET, now: Date.now, ...options });
type Operated = ReturnType<typeof setUp>;

const failure = (code: string, message: RegExp) => ({
  code,
  message: expect.stringMatching(message),
});

async function denied(gateway: Operated, parts: Parameters<Operated['visit']>[0] = LOGIN) {
  for (;;) {
    const decision = await gateway.visit(parts);
    if (decision.denial !== undefined) return decision.denial;
  }
}

describe('block and exempt', () => {
  test.each([
    ['block', 'blocked', 'unblock'],
    ['exempt', 'exempt', 'unexempt'],
  ] as const)('%s holds until it is lifted, and both are audited', async (verb, access, lift) => {
    const { operate, visit, audit } = setUp();
    const made = await operate(verb, { client: CLIENT, ...TERMS });
    expect(made).toEqual({
      ...{ about: 'client', client: expect.stringMatching(/^i\.[\w-]{22}$/), access },
      ...{ since: LATER, until: IN_TEN_MINUTES, reason: 'a test', by: 'ada' },
    });
    expect(await visit(LOGIN)).toMatchObject({ reason: access });
    const { client } = made as { client: string };
    expect(await operate(lift, { client: CLIENT })).toEqual({ client });
    expect(await visit(LOGIN)).toMatchObject({ reason: 'within_limits' });
    expect(audit).toEqual([
      {
        ...{ action: verb, subject: client, change: access },
        ...{ until: IN_TEN_MINUTES, reason: 'a test', by: 'ada' },
      },
      {
        ...{ action: lift, subject: client, change: `no longer ${access}` },
        ...{ until: undefined, reason: undefined, by: 'unknown' },
      },
    ]);
  });

  test('one replaces the other, also under another name of the client', async () => {
    const { operate, overrides } = setUp();
    await operate('block', { client: CLIENT, ...TERMS, for: '31d' });
    await operate('exempt', { client: CLIENT, ...TERMS });
    expect(overrides.list()).toMatchObject([{ access: 'exempt', isLong: false }]);
    await operate('block', { client: CLIENT, ...TERMS, for: '31d' });
    expect(overrides.list()).toMatchObject([{ access: 'blocked', isLong: true }]);
  });

  test('an override of another kind is not lifted', async () => {
    const { operate, overrides, audit } = setUp();
    await operate('block', { client: CLIENT, ...TERMS });
    await expect(operate('unexempt', { client: CLIENT })).rejects.toMatchObject(
      failure('not_found', /^no operator exempted this client$/),
    );
    expect(overrides.list()).toHaveLength(1);
    expect(audit).toHaveLength(1);
  });

  test('an override that another gateway made a moment ago can be lifted', async () => {
    const { operate, overrideStore, overrides } = setUp();
    const other = setUp();
    await other.operate('block', { client: 'user:bob', ...TERMS });
    for (const stored of await other.overrideStore.read()) await overrideStore.put(stored);
    expect(overrides.list()).toEqual([]);
    expect(await operate('unblock', { client: 'user:bob' })).toMatchObject({
      client: expect.stringMatching(/^u\./),
    });
  });

  test('a trusted proxy can be blocked, and is never exempt', async () => {
    const { operate } = setUp();
    await expect(operate('exempt', { client: '10.0.0.1', ...TERMS })).rejects.toMatchObject(
      failure('not_possible', /trusted proxy/),
    );
    expect(await operate('block', { client: '10.0.0.1', ...TERMS })).toMatchObject({
      access: 'blocked',
    });
  });

  test('nor is one on the machine of the gateway, under none of its names', async () => {
    const { operate, visit } = setUp();
    for (const client of ['127.0.0.1', '::1']) {
      const { client: pseudonym } = (await operate('block', { client, ...TERMS })) as {
        client: string;
      };
      await operate('unblock', { client });
      for (const name of [client, pseudonym]) {
        await expect(operate('exempt', { client: name, ...TERMS })).rejects.toMatchObject(
          failure('not_possible', /trusted proxy/),
        );
      }
      expect(await visit({ target: '/login', peer: client })).toMatchObject({
        reason: 'within_limits',
      });
    }
  });

  test.each([
    ['key-of-acme', /^c\./],
    ['key-of-nobody', /^k\./],
  ])(
    'an exemption by a decision that the key %s was charged for is for this key',
    async (key, name) => {
      const gateway = setUp();
      const upload = {
        target: '/upload',
        peer: CLIENT,
        headers: { 'x-user': 'bob', 'x-api-key': key },
      };
      const { id, client } = await denied(gateway, upload);
      const byBob = { ...upload, headers: { 'x-user': 'bob' } };
      const made = await gateway.operate('exempt', { client: id, ...TERMS });
      expect(made).toMatchObject({ client: expect.stringMatching(name) });
      const byAnn = {
        ...upload,
        peer: '203.0.113.10',
        headers: { 'x-user': 'ann', 'x-api-key': key },
      };
      for (const parts of [upload, byAnn]) {
        expect(await gateway.visit(parts)).toMatchObject({ reason: 'exempt' });
      }
      expect(await gateway.visit(byBob)).not.toMatchObject({ reason: 'exempt' });
      expect(await gateway.operate('decision', { id })).toMatchObject({
        client,
        override: { access: 'exempt', client: (made as { client: string }).client },
      });
      expect(await gateway.operate('unexempt', { client: id })).toMatchObject({
        client: expect.stringMatching(name),
      });
      expect(await gateway.operate('block', { client: id, ...TERMS })).toMatchObject({ client });
    },
  );

  test('an exemption by a decision leaves the user who sent the key under its limits', async () => {
    const policies = policySetFrom(`
version: 1
identity:
  sources: [user, api_key, ip]
  trusted_proxies: [loopback]
default: { limits: [1000/1h] }
policies:
  - { name: upload, match: { path: /upload }, limits: [{ rate: 2/1h, per: api_key }] }
  - { name: login, match: { path: /login }, limits: [2/1h] }`);
    const gateway = setUp({ policies });
    const headers = { 'x-user': 'bob', 'x-api-key': 'a key' };
    const { id, client } = await denied(gateway, { target: '/upload', peer: CLIENT, headers });
    expect(client).toMatch(/^u\./);
    expect(await gateway.operate('exempt', { client: id, ...TERMS })).toMatchObject({
      client: expect.stringMatching(/^k\./),
    });
    const others = { 'x-user': 'bob', 'x-api-key': 'another key' };
    expect(
      await gateway.visit({ target: '/login', peer: CLIENT, headers: others }),
    ).not.toMatchObject({ reason: 'exempt' });
    // A block is for the one who sends the requests.
    expect(await gateway.operate('block', { client: id, ...TERMS })).toMatchObject({ client });
  });

  test('of a listed key are shown with its id and plan, also in the audit log', async () => {
    const { operate, audit } = setUp();
    const listed = { client_id: 'acme', plan: 'pro' };
    expect(await operate('block', { client: 'id:acme', ...TERMS })).toMatchObject(listed);
    expect(await operate('listOverrides')).toMatchObject({ overrides: [listed] });
    expect(await operate('unblock', { client: 'id:acme' })).toMatchObject(listed);
    expect(await operate('reset', { client: 'id:acme' })).toMatchObject(listed);
    expect(audit.map(({ client_id }) => client_id)).toEqual(['acme', 'acme', 'acme']);
    expect(await operate('block', { client: 'user:acme', ...TERMS })).not.toHaveProperty(
      'client_id',
    );
  });

  describe('by a decision id', () => {
    const byCarl = { ...LOGIN, headers: { 'x-user': 'carl' } };
    const office = { ...TERMS, by: 'dora', reason: 'whole office' };
    const access = ({ overrides }: Operated) =>
      overrides.list().map((each) => each.about === 'client' && [each.client[0], each.access]);

    async function blockedCarl(gateway: Operated) {
      await gateway.operate('block', { client: CLIENT, ...office, for: '1h' });
      await gateway.operate('block', { client: 'user:carl', ...TERMS });
      return (await denied(gateway, byCarl)).id;
    }

    test('an exemption of a user leaves the block of the address', async () => {
      const gateway = setUp();
      const id = await blockedCarl(gateway);
      expect(await gateway.operate('exempt', { client: id, ...TERMS })).toMatchObject({
        client: expect.stringMatching(/^u\./),
        replaced: [{ access: 'blocked', by: 'ada' }],
        other_overrides: [{ client: expect.stringMatching(/^i\./), reason: 'whole office' }],
      });
      expect(access(gateway)).toEqual([
        ['u', 'exempt'],
        ['i', 'blocked'],
      ]);
      expect(await gateway.visit(LOGIN)).toMatchObject({ reason: 'blocked' });
    });

    test('only the user is unblocked; then the answer names the block of the address', async () => {
      const gateway = setUp();
      const id = await blockedCarl(gateway);
      gateway.audit.length = 0;
      expect(await gateway.operate('unblock', { client: id })).toMatchObject({
        other_overrides: [{ reason: 'whole office' }],
      });
      expect(access(gateway)).toEqual([['i', 'blocked']]);
      expect(gateway.audit).toHaveLength(1);
      await expect(gateway.operate('unblock', { client: id })).rejects.toMatchObject(
        failure('not_found', /"whole office"; to end it for all of them: .* unblock i\./),
      );
    });

    test('a block of a user leaves the exemption of the address', async () => {
      const gateway = setUp();
      const { id } = await denied(gateway, byCarl);
      await gateway.operate('exempt', { client: CLIENT, ...office });
      expect(await gateway.operate('block', { client: id, ...TERMS })).toMatchObject({
        other_overrides: [{ access: 'exempt' }],
      });
      expect(access(gateway)).toHaveLength(2);
    });

    test('the audit log names every override of an address that ends', async () => {
      const { operate, overrides, audit } = setUp();
      await operate('block', { client: CLIENT, ...TERMS, for: '31d' });
      const [long] = overrides.list();
      await operate('exempt', { client: CLIENT, ...TERMS });
      const { client } = long as { client: string };
      expect(audit.at(-1)).toMatchObject({ change: `exempt, in place of ${client}: blocked` });
    });
  });

  test('the client of a decision is blocked by every name of its last request', async () => {
    const gateway = setUp();
    const { id } = await denied(gateway, { ...LOGIN, headers: { 'x-user': 'bob' } });
    const made = await gateway.operate('block', { client: id, ...TERMS });
    expect(made).toMatchObject({ client: expect.stringMatching(/^u\./) });
    expect(await gateway.visit({ ...LOGIN, headers: { 'x-user': 'bob' } })).toMatchObject({
      reason: 'blocked',
    });
    expect(await gateway.operate('unblock', { client: 'user:bob' })).toMatchObject({
      client: (made as { client: string }).client,
    });
  });
});

describe('reset', () => {
  const remaining = async ({ visit }: Operated, target: string) =>
    (await visit({ ...LOGIN, target })).binding?.state.remaining;

  test('of a decision keeps the counters that all clients share', async () => {
    const gateway = setUp();
    const { id } = await denied(gateway, { ...LOGIN, target: '/stock' });
    await gateway.operate('reset', { client: id });
    expect(await gateway.visit({ ...LOGIN, target: '/stock' })).toMatchObject({
      reason: 'over_limit',
    });
  });

  test('of a decision also empties the counter that all invented keys of the address share', async () => {
    const gateway = setUp();
    const withKey = (i: number) => ({ ...LOGIN, headers: { 'x-api-key': `invented-${i}` } });
    let denial: { readonly id: string } | undefined;
    for (let i = 0; denial === undefined; i++) {
      ({ denial } = await gateway.visit(withKey(i)));
    }
    await gateway.operate('reset', { client: denial.id });
    expect(await gateway.visit(withKey(1_000))).toMatchObject({ reason: 'within_limits' });
  });

  test('empties the counters of every policy, or of one', async () => {
    const gateway = setUp();
    for (const target of ['/login', '/search']) await gateway.visit({ ...LOGIN, target });
    const { client, policies } = await gateway.operate('reset', {
      ...{ client: CLIENT, policy: 'login', reason: 'sorry', by: 'bob' },
    });
    expect(policies).toEqual(['login']);
    expect(await remaining(gateway, '/login')).toBe(1);
    expect(await remaining(gateway, '/search')).toBe(1);
    expect(await gateway.operate('reset', { client: CLIENT })).toEqual({
      client,
      policies: ['login', 'search', 'trial', 'office', 'stock', 'upload', 'default'],
    });
    expect(await remaining(gateway, '/search')).toBe(2);
    expect(gateway.audit).toMatchObject([
      { action: 'reset', subject: client, change: 'reset login', reason: 'sorry', by: 'bob' },
      { action: 'reset', subject: client, change: 'reset all policies', by: 'unknown' },
    ]);
  });

  test('forgets the reservations of limits that charge afterwards, and marks no others', async () => {
    const afterwards = { unit: 'tokens', reserve: 1, unknown: 9, refund: undefined };
    const chargedLater = (policy: Policy): Policy => {
      const limits = policy.limits.map((limit) => ({ ...limit, afterwards }));
      return policy.name === 'search' ? { ...policy, limits } : policy;
    };
    const operated = setUp({ policies: { ...SET, policies: SET.policies.map(chargedLater) } });
    const reset = vi.spyOn(operated.gateway.store, 'reset');
    await operated.operate('reset', { client: CLIENT });
    const [keys = [], settled = []] = reset.mock.calls[0] ?? [];
    expect(keys.length).toBeGreaterThan(settled.length);
    expect(settled.length).toBeGreaterThan(0);
    expect(settled).toEqual(keys.filter((key) => key.includes('}:search:')));
  });

  test('by a decision also empties the counters of the address that denied it', async () => {
    const gateway = setUp();
    const office = (key: string) => ({
      ...LOGIN,
      target: '/office',
      headers: { 'x-api-key': key },
    });
    await gateway.visit(office('key-of-acme'));
    const { id } = await denied(gateway, office('key-of-acme'));
    const { client } = await gateway.operate('reset', { client: id });
    expect(client).toMatch(/^c\./);
    expect(await gateway.visit(office('key-of-acme'))).toMatchObject({ verdict: 'allow' });
  });

  test('of a policy that does not exist names those that do', async () => {
    await expect(
      setUp().operate('reset', { client: CLIENT, policy: 'logon' }),
    ).rejects.toMatchObject(
      failure('not_found', /^there is no policy "logon"; there are login, search, .*default$/),
    );
  });
});

describe('policies', () => {
  test('are listed with their limits, the mode of the file and the mode now', async () => {
    const { operate } = setUp();
    await operate('setMode', { policy: 'login', mode: 'off', ...TERMS });
    const { policies } = await operate('listPolicies');
    expect(policies.map(({ name, mode, mode_of_file }) => [name, mode, mode_of_file])).toEqual([
      ['login', 'off', 'enforce'],
      ['search', 'enforce', 'enforce'],
      ['trial', 'shadow', 'shadow'],
      ['office', 'enforce', 'enforce'],
      ['stock', 'enforce', 'enforce'],
      ['upload', 'enforce', 'enforce'],
      ['default', 'enforce', 'enforce'],
    ]);
    expect(policies[1]).toMatchObject({
      ...{ limits: ['3 requests per hour, per client'], on_store_failure: 'deny' },
    });
  });
  test('are listed with what limits reserve and refund', async () => {
    const policies = policySetFrom(`
version: 1
identity: { verified_headers: [x-reserve] }
default:
  limits:
    - { rate: 9000/1h, algorithm: fixed-window, unit: tokens, reserve: { header: x-reserve }, unknown: 800 }
    - { rate: 9000/1d, algorithm: fixed-window, unit: tokens, reserve: { metadata: envoy.ai.request_info }, unknown: 800 }
    - { rate: 9000/month, unit: tokens, reserve: 50, unknown: 800, refund: { status: [404, 500] } }
    - { rate: 5/5min, refund: { status: [204], header: { x-login: ok }, location: /account } }`);
    const { operate, visit } = setUp({ policies });
    const [listed] = (await operate('listPolicies')).policies;
    expect(listed?.limits).toEqual([
      '9000 tokens per hour, per client, reserves header x-reserve, unknown 800',
      '9000 tokens per day, per client, reserves metadata envoy.ai.request_info, unknown 800',
      '9000 tokens per month, per client, reserves 50, unknown 800, refunds status 404 or status 500',
      '5 requests per 5 minutes, per client, refunds status 204 or header x-login: ok or location /account',
    ]);
    await visit(LOGIN);
    const { limits } = await operate('inspect', { client: CLIENT });
    expect(limits.map(({ allows, remaining }) => [allows, remaining])).toContainEqual([
      '9000 tokens per month, reserves 50, unknown 800, refunds status 404 or status 500',
      8_950,
    ]);
  });

  test('change their mode until it is restored', async () => {
    const { operate, visit, audit } = setUp();
    expect(await operate('setMode', { policy: 'login', mode: 'off', ...TERMS })).toEqual({
      ...{ about: 'policy', policy: 'login', mode: 'off' },
      ...{ since: LATER, until: IN_TEN_MINUTES, reason: 'a test', by: 'ada' },
    });
    expect(await visit(LOGIN)).toMatchObject({ reason: 'not_enforced' });
    expect(await operate('restoreMode', { policy: 'login', by: 'bob' })).toEqual({
      policy: 'login',
    });
    expect(await visit(LOGIN)).toMatchObject({ reason: 'within_limits' });
    await expect(operate('restoreMode', { policy: 'login' })).rejects.toMatchObject(
      failure('not_found', /^there is no override for the policy "login"$/),
    );
    await expect(
      operate('setMode', { policy: 'logon', mode: 'off', ...TERMS }),
    ).rejects.toMatchObject(failure('not_found', /"logon"/));
    expect(audit).toMatchObject([
      { action: 'mode', subject: 'login', change: 'off', by: 'ada' },
      { action: 'mode', subject: 'login', change: 'as the policy file says', by: 'bob' },
    ]);
  });
});

describe('the log', () => {
  test('changes its level, its sample of allowed requests, or both', async () => {
    const { operate, overrides, audit } = setUp();
    const { overrides: made } = await operate('setLog', {
      ...{ level: 'debug', allows_one_in: 7, ...TERMS },
    });
    expect(made).toMatchObject([
      { about: 'log_level', level: 'debug', until: IN_TEN_MINUTES },
      { about: 'log_allows', allows_one_in: 7, until: IN_TEN_MINUTES },
    ]);
    expect(await operate('restoreLog')).toEqual({});
    expect(overrides.list()).toEqual([]);
    expect(await operate('setLog', { allows_one_in: 9, ...TERMS })).toMatchObject({
      overrides: [{ allows_one_in: 9 }],
    });
    expect(await operate('restoreLog', { by: 'bob' })).toEqual({});
    await expect(operate('restoreLog')).rejects.toMatchObject(
      failure('not_found', /^there is no override for the log$/),
    );
    expect(audit.map(({ action, change, by }) => [action, change, by])).toEqual([
      ['log', 'level debug', 'ada'],
      ['log', 'one in 7 allowed requests', 'ada'],
      ['log', 'as at the start', 'unknown'],
      ['log', 'one in 9 allowed requests', 'ada'],
      ['log', 'as at the start', 'bob'],
    ]);
  });

  test('is not changed by a call that names nothing to change', async () => {
    const { operate, audit } = setUp();
    await expect(operate('setLog', TERMS)).rejects.toMatchObject(
      failure('invalid', /level, allows_one_in or both/),
    );
    expect(audit).toEqual([]);
  });
});

test('overrides are listed in the order in which they end', async () => {
  const { operate } = setUp();
  await operate('block', { client: 'user:bob', ...TERMS, for: '2h' });
  await operate('setMode', { policy: 'login', mode: 'shadow', ...TERMS, for: '1h' });
  const { overrides } = await operate('listOverrides');
  expect(overrides.map(({ about }) => about)).toEqual(['policy', 'client']);
});

describe('denied clients', () => {
  const report = (client: string, denials: number, at: string) => ({
    ...{ decision_id: '0123456789ab-1', policy: 'login', reason: 'over_limit', mode: 'enforced' },
    ...{ client, identity: 'ip', denials, since: at, last: at, names: [client], networks: [] },
  });

  test('are listed with their last denial, and without names that only gateways need', async () => {
    const gateway = setUp();
    const { id } = await denied(gateway);
    vi.advanceTimersByTime(60_000);
    await gateway.visit(LOGIN);
    const { clients, gateways } = await gateway.operate('top');
    expect(gateways).toEqual({ asked: 1, answered: 1 });
    expect(clients).toEqual([
      {
        ...{ decision_id: id.replace(/1$/, '2'), policy: 'login', reason: 'over_limit' },
        ...{ mode: 'enforced', identity: 'ip', limit: 'login', dialect: 'envoy', denials: 2 },
        ...{ client: expect.stringMatching(/^i\./), allows: '2 requests per 5 minutes' },
        ...{ counted: clients[0]?.client, key: expect.stringContaining('login') },
        since: LATER,
        last: '2026-11-21T12:01:00.000Z',
        until: '2026-11-21T12:05:00.000Z',
      },
    ]);
  });

  test('of a listed key have its id and plan, which no other gateway can invent', async () => {
    const forged = { ...report('i.a', 1, LATER), client_id: 'acme', plan: 'pro' };
    const gateway = setUp({ peerAnswers: [[forged]] });
    const { id } = await denied(gateway, { ...LOGIN, headers: { 'x-api-key': 'key-of-acme' } });
    const listed = { client_id: 'acme', plan: 'pro' };
    const { clients } = await gateway.operate('top');
    expect(clients).toMatchObject([{ decision_id: id, ...listed }, { client: 'i.a' }]);
    expect(clients[1]).not.toHaveProperty('client_id');
    expect(await gateway.operate('decision', { id })).toMatchObject({
      ...listed,
      now: { allows: '3 requests per 5 minutes', remaining: 0 },
    });
  });

  test('that an operator blocked are listed with the end of the block', async () => {
    const gateway = setUp();
    await gateway.operate('block', { client: CLIENT, ...TERMS });
    const { id } = await denied(gateway);
    expect((await gateway.operate('top')).clients).toMatchObject([
      { reason: 'blocked', until: IN_TEN_MINUTES },
    ]);
    expect(await gateway.operate('decision', { id })).toMatchObject({ until: IN_TEN_MINUTES });
    await gateway.operate('unblock', { client: CLIENT });
    expect((await gateway.operate('top')).clients[0]).not.toHaveProperty('until');
  });

  test('are not listed after a reset, until they are denied again', async () => {
    const gateway = setUp();
    await denied(gateway);
    await denied(gateway, { target: '/stock', peer: '203.0.113.7' });
    for (let i = 0; i < 2; i++) await gateway.visit({ ...LOGIN, target: '/trial' });
    await gateway.operate('reset', { client: CLIENT, policy: 'search' });
    expect((await gateway.operate('top')).clients).toHaveLength(2);
    await gateway.operate('reset', { client: CLIENT });
    await gateway.operate('reset', { client: '203.0.113.7' });
    // A counter of all clients still denies this one.
    expect((await gateway.operate('top')).clients).toMatchObject([{ policy: 'stock' }]);
    expect((await gateway.operate('top', { shadow: true })).clients).toEqual([]);
    await denied(gateway);
    expect((await gateway.operate('top')).clients).toMatchObject([{}, { denials: 1 }]);
  });

  test('are at most a hundred in one reply', async () => {
    const gateway = setUp();
    for (let i = 1; i <= 101; i++) {
      await denied(gateway, { ...LOGIN, peer: `198.51.100.${i}` });
    }
    const query = { about: 'top', most: 1_000, withinMs: 60_000, shadow: false };
    expect(await replyTo(gateway.gateway, query)).toHaveLength(100);
  });

  test('of shadow policies are listed apart', async () => {
    const gateway = setUp();
    for (let i = 0; i < 2; i++) await gateway.visit({ ...LOGIN, target: '/trial' });
    expect((await gateway.operate('top')).clients).toEqual([]);
    expect((await gateway.operate('top', { shadow: true })).clients).toMatchObject([
      { policy: 'trial', denials: 1 },
    ]);
  });

  test('are not listed five minutes after their last denial', async () => {
    const gateway = setUp();
    await denied(gateway);
    vi.advanceTimersByTime(300_000);
    expect((await gateway.operate('top')).clients).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect((await gateway.operate('top')).clients).toEqual([]);
  });

  test('of several gateways are added up, most denials first', async () => {
    const peerAnswers = [
      [report('i.a', 2, '2026-11-21T11:59:00.000Z'), report('i.b', 4, LATER)],
      [report('i.a', 3, '2026-11-21T11:58:00.000Z')],
    ];
    const { operate } = setUp({ peerAnswers, silentGateways: 2 });
    const { clients, gateways } = await operate('top');
    expect(gateways).toEqual({ asked: 5, answered: 3 });
    expect(clients).toMatchObject([
      {
        ...{ client: 'i.a', denials: 5 },
        ...{ since: '2026-11-21T11:58:00.000Z', last: '2026-11-21T11:59:00.000Z' },
      },
      { client: 'i.b', denials: 4 },
    ]);
    expect((await operate('top', { limit: 1 })).clients).toHaveLength(1);
  });

  test('are listed although another gateway answers nonsense, or numbers too large to add', async () => {
    const huge = Number.MAX_SAFE_INTEGER;
    const peerAnswers = [
      ...[null, 7, 'x', {}, { clients: [] }],
      [null, { client: 'i.a' }, { ...report('i.c', 1.5, LATER) }, report('i\u001b[2J', 1, LATER)],
      [report('i.a', huge, LATER)],
      [report('i.a', huge, LATER)],
    ];
    const { clients } = await setUp({ peerAnswers }).operate('top');
    expect(clients).toMatchObject([{ client: 'i.a', denials: huge }]);
  });

  test('of one gateway are a hundred reports at most', async () => {
    const many = Array.from({ length: 150 }, (_, i) => report(`i.${i}`, 1, LATER));
    const { clients } = await setUp({ peerAnswers: [many] }).operate('top', { limit: 100 });
    expect(clients).toHaveLength(100);
  });
});

describe('a decision', () => {
  test('is shown with the quota, the mode of the policy and the override of now', async () => {
    const gateway = setUp();
    const { id } = await denied(gateway);
    vi.advanceTimersByTime(60_000);
    await gateway.operate('setMode', { policy: 'login', mode: 'shadow', ...TERMS });
    await gateway.operate('block', { client: CLIENT, ...TERMS });
    const decision = await gateway.operate('decision', { id });
    expect(decision).toMatchObject({
      ...{ asked_for: id, decision_id: id, policy: 'login', policy_mode: 'shadow' },
      override: { about: 'client', access: 'blocked' },
      now: {
        ...{ allows: '2 requests per 5 minutes', remaining: 0 },
        ...{ retry_after_ms: 240_000, reset_after_ms: 240_000 },
      },
    });
    expect(decision).not.toHaveProperty('names');
    expect(decision).not.toHaveProperty('networks');
  });

  test('is shown with the override that applied, if it has ended', async () => {
    const gateway = setUp();
    await gateway.operate('block', { client: CLIENT, ...TERMS });
    const { id } = await denied(gateway);
    vi.advanceTimersByTime(60_000);
    await gateway.operate('unblock', { client: CLIENT, by: 'bob' });
    const decision = await gateway.operate('decision', { id });
    expect(decision).not.toHaveProperty('override');
    expect(decision).toMatchObject({
      ended_override: {
        override: { access: 'blocked', reason: 'a test', by: 'ada', until: IN_TEN_MINUTES },
        ...{ ended_at: '2026-11-21T12:01:00.000Z', ended_by: 'bob' },
      },
    });
    await gateway.operate('exempt', { client: CLIENT, ...TERMS });
    expect(await gateway.operate('decision', { id })).not.toHaveProperty('ended_override');
  });

  test('by a shadow policy is shown, too', async () => {
    const gateway = setUp();
    for (let i = 0; i < 2; i++) await gateway.visit({ ...LOGIN, target: '/trial' });
    const [{ decision_id: id } = { decision_id: '' }] = (
      await gateway.operate('top', { shadow: true })
    ).clients;
    expect(await gateway.operate('decision', { id })).toMatchObject({ policy: 'trial' });
  });

  test('is shown without the quota if the store is unavailable', async () => {
    const gateway = setUp();
    const { id } = await denied(gateway);
    Object.assign(gateway.gateway.reader, {
      peek: () => Promise.reject(new StoreError('timeout', 'Redis did not answer')),
    });
    const decision = await gateway.operate('decision', { id });
    expect(decision).toMatchObject({ policy: 'login', policy_mode: 'enforce' });
    expect(decision).not.toHaveProperty('now');
    expect(decision).not.toHaveProperty('override');
  });

  test.each([
    [
      0,
      /^no gateway knows the decision 0123456789ab-7: it was not a denial, its client is forgotten/,
    ],
    [1, /^no gateway that answered knows the decision 0123456789ab-7, and 1 of 2 did not answer$/],
  ])('that no gateway knows, with %i silent', async (silentGateways, message) => {
    await expect(
      setUp({ silentGateways }).operate('decision', { id: '0123456789ab-7' }),
    ).rejects.toMatchObject(failure('not_found', message));
  });

  test('of another gateway is shown as that one tells it', async () => {
    const report = {
      ...{ decision_id: '0123456789ab-1', policy: 'login', reason: 'blocked', mode: 'enforced' },
      ...{ client: 'i.a', identity: 'ip', denials: 1, since: LATER, last: LATER },
      ...{ names: ['i.a'], networks: [] },
    };
    const { operate } = setUp({ peerAnswers: [{ nonsense: 1 }, { report }] });
    expect(await operate('decision', { id: '0123456789ab-1' })).toMatchObject({
      ...{ policy: 'login', reason: 'blocked', client: 'i.a' },
    });
  });
});

test('explain shows the decision of now, and counts nothing', async () => {
  const { operate, visit } = setUp();
  await visit(LOGIN);
  for (let i = 0; i < 3; i++) {
    const { answer, steps } = await operate('explain', {
      ...{ url: '/login', peer: CLIENT, headers: { 'x-a': 'b', 'x-c': ['d', 'e'] } },
    });
    expect(answer).toMatchObject({ status: 200, dialect: 'envoy' });
    expect(answer.headers[answer.headers.indexOf('X-RateLimit-Remaining') + 1]).toBe('0');
    expect(steps.length).toBeGreaterThan(3);
  }
  await operate('block', { client: CLIENT, ...TERMS });
  const { answer } = await operate('explain', { url: '/login', peer: CLIENT });
  expect(answer.status).toBe(403);
});

test('explain says that its answer is not by the counters', async () => {
  const gateway = setUp();
  const peek = () => Promise.reject(new StoreError('timeout', 'Redis failed'));
  Object.assign(gateway.gateway, { reader: { peek } });
  expect(await gateway.operate('explain', { url: '/login', client: CLIENT })).toMatchObject({
    store_unavailable: 'Redis did not answer in time.',
    answer: { status: 200 },
  });
});

test('explain says which override applies or did, and the id and plan of a listed key', async () => {
  const { operate } = setUp();
  const request = { url: '/login', client: CLIENT, headers: { 'x-api-key': 'key-of-acme' } };
  const identity = async () =>
    (await operate('explain', request)).steps
      .filter(({ about }) => about === 'identity')
      .map(({ what }) => what);
  expect(await identity()).toContain('the key is listed: id:acme (plan pro)');
  await operate('block', { client: 'id:acme', ...TERMS });
  await operate('exempt', { client: CLIENT, ...TERMS, for: '2h' });
  vi.advanceTimersByTime(60_000);
  const blocked = 'id:acme (plan pro): blocked until 2026-11-21 12:10:00 UTC, in 9 min, by ada';
  expect((await identity()).slice(-4)).toEqual([
    'an override applies: the client is exempt',
    'the key is listed: id:acme (plan pro)',
    `override: ${blocked}, "a test"`,
    expect.stringMatching(
      /^override: i\.[\w-]{22}: exempt until 2026-11-21 14:00:00 UTC, in 119 min/,
    ),
  ]);
  await operate('unexempt', { client: CLIENT, by: 'bob' });
  vi.advanceTimersByTime(540_000);
  expect((await identity()).at(-1)).toBe(
    'ended override: id:acme (plan pro): blocked by ada, "a test"; expired at 2026-11-21 12:10:00 UTC, now',
  );
});

describe('stats', () => {
  test('count the windows that are active', async () => {
    const { operate, visit } = setUp();
    await visit(LOGIN);
    expect(await operate('stats')).toEqual({
      ...{
        store: 'memory',
        gateways: 1,
        gateways_answered: 1,
        workers: 0,
        active_windows: 1,
        is_exact: true,
        sampled_keys: 1,
      },
      ...{ servers: [], unseen_headers: [] },
    });
  });

  test('have the state of each Redis, and headers that no request had', async () => {
    const { operate, gateway } = setUp();
    const server = { version: '7.4.1', maxMemoryPolicy: 'noeviction', usedMemoryBytes: 1 };
    const unseen = { dialect: 'nginx', header: 'x-api-key', requests: 1_000 };
    Object.assign(gateway, {
      stats: async () => ({
        store: 'redis',
        keyspace: { activeWindows: 5, sampledKeys: 1_000, isExact: false, memoryBytes: 64 },
        servers: [{ ...server, maxMemoryBytes: 2, evictedKeys: 3, connectedClients: 4 }],
      }),
      unseenHeaders: () => [unseen],
      knownGateways: () => 2,
    });
    expect(await operate('stats')).toEqual({
      ...{
        store: 'redis',
        gateways: 2,
        gateways_answered: 1,
        workers: 0,
        active_windows: 5,
        is_exact: false,
      },
      ...{ sampled_keys: 1_000, memory_bytes: 64, unseen_headers: [unseen] },
      servers: [
        {
          ...{ version: '7.4.1', used_memory_bytes: 1, max_memory_bytes: 2 },
          ...{ max_memory_policy: 'noeviction', evicted_keys: 3, connected_clients: 4 },
        },
      ],
    });
  });

  test('say since when Redis has not answered, and what happens to requests', async () => {
    const condition = { isDegraded: true, sinceMs: NOON_MS - 60_000, reason: 'timeout' };
    const { operate, gateway } = setUp({ store: { ...condition, lapses: undefined } });
    const silent = () => Promise.reject(new StoreError('timeout', 'Redis did not answer in time'));
    Object.assign(gateway, { stats: silent, knownGateways: () => 3 });
    expect(await operate('stats')).toEqual({
      ...{ gateways_answered: 1, workers: 0 },
      ...{ store: 'redis', gateways: 3, servers: [], unseen_headers: [] },
      unavailable:
        'Redis has not answered since 11:59 UTC. login, office, stock, upload and default pass uncounted; search is denied.',
    });
  });

  test('say no more than that if requests may be counted all the same', async () => {
    const { operate, gateway } = setUp();
    const slow = () => Promise.reject(new StoreError('timeout', 'Redis did not answer in time'));
    Object.assign(gateway, { stats: slow });
    expect(await operate('stats')).toMatchObject({ unavailable: 'Redis did not answer in time.' });
  });

  test('say why Redis refuses', async () => {
    const { operate, gateway } = setUp();
    const refuses = () => Promise.reject(new StoreError('noperm', 'Redis refused'));
    Object.assign(gateway, { stats: refuses });
    await expect(operate('stats')).rejects.toMatchObject(
      failure('store_unavailable', /^no statistics: Redis refused \(noperm\); /),
    );
  });
});

describe('a search of denied clients', () => {
  const search = async (gateway: Operated, filter: string) =>
    (await gateway.operate('findDenied', { filter, limit: 100 })).clients;

  test('finds one that is not among the hundred with the most denials', async () => {
    const gateway = setUp();
    for (let i = 0; i < 250; i++) {
      const visitor = { ...LOGIN, peer: `198.51.100.${i}` };
      for (let n = 0; n < 4; n++) await gateway.visit(visitor);
    }
    const { id } = await denied(gateway, { ...LOGIN, peer: '203.0.113.77' });
    const { client } = await gateway.operate('decision', { id });
    const listed = (await gateway.operate('top', { limit: 100 })).clients;
    expect(listed.map((each) => each.client)).not.toContain(client);
    const forms = [client, client.toUpperCase(), client.slice(3, 15), id, '203.0.113.77'];
    for (const filter of forms) expect(await search(gateway, filter)).toMatchObject([{ client }]);
    expect(await search(gateway, '203.0.113.78')).toEqual([]);
    expect(await search(gateway, '')).toHaveLength(100);
    expect(await search(gateway, 'login')).toHaveLength(100);
  });

  test('knows keys, plans, policies and reasons; any decision id of a client finds it', async () => {
    const gateway = setUp();
    const keyed = { ...LOGIN, headers: { 'x-api-key': 'key-of-acme' } };
    const first = await denied(gateway, keyed);
    await gateway.visit(keyed);
    for (const filter of [
      'acme',
      'id:acme',
      'ACM',
      'pro',
      'over_limit',
      'key:key-of-acme',
      first.id,
    ])
      expect(await search(gateway, filter)).toMatchObject([{ client_id: 'acme', denials: 2 }]);
    for (const filter of ['id:nobody', 'key:other', 'user:bob', 'search', 'g'.repeat(256)])
      expect(await search(gateway, filter)).toEqual([]);
  });

  test('sends other gateways no address and no key', async () => {
    const gateway = setUp();
    const asked = vi.spyOn(gateway.gateway, 'queryAll');
    for (const filter of ['203.0.113.9', 'key:secret', 'user:bob']) await search(gateway, filter);
    expect(JSON.stringify(asked.mock.calls)).not.toMatch(/203\.0|secret|bob/);
  });
});

describe('an input', () => {
  const INPUTS: Readonly<Record<OperationName, Readonly<Record<string, unknown>>>> = {
    overview: {},
    stats: {},
    explain: { url: '/login' },
    decision: { id: '0123456789ab-1' },
    top: {},
    findDenied: {},
    inspect: { client: CLIENT },
    reset: { client: CLIENT },
    block: { client: CLIENT, ...TERMS },
    unblock: { client: CLIENT },
    exempt: { client: CLIENT, ...TERMS },
    unexempt: { client: CLIENT },
    listOverrides: {},
    listPolicies: {},
    setMode: { policy: 'login', mode: 'off', ...TERMS },
    restoreMode: { policy: 'login' },
    setLog: { level: 'debug', ...TERMS },
    restoreLog: {},
    addKey: { id: 'acme' },
    listKeys: {},
    changeKeys: { id: 'acme', blocked: true },
    rotateKey: { id: 'acme' },
    revokeKeys: { id: 'acme' },
    importKeys: { keys: [{ id: 'acme', sha256: '0'.repeat(64) }] },
  };

  const OPTIONAL = ['by', 'level', 'blocked'];

  test.each(Object.keys(OPERATIONS) as OperationName[])(
    'of %s with a field that is unknown or missing is refused',
    async (name) => {
      const { operate, audit } = setUp();
      await expect(operate(name, { ...INPUTS[name], nonsense: 1, junk: 2 })).rejects.toMatchObject(
        failure('invalid', /^nonsense: is not known; junk: is not known$/),
      );
      for (const field of Object.keys(INPUTS[name]).filter((each) => !OPTIONAL.includes(each))) {
        const { [field]: _, ...others } = INPUTS[name];
        await expect(operate(name, others)).rejects.toMatchObject(
          failure('invalid', new RegExp(`^${field}: is missing$`)),
        );
      }
      expect(audit).toEqual([]);
    },
  );

  test.each<[OperationName, Record<string, unknown>, string]>([
    ['block', { client: 7 }, 'client: must be text'],
    ['block', { client: '' }, 'client: must not be empty'],
    ['block', { client: 'x'.repeat(8_193) }, 'client: must have at most 8192 characters'],
    ['block', { reason: 'a\nb' }, 'reason: must not contain control characters'],
    ['block', { by: 'x'.repeat(65) }, 'by: must have at most 64 characters'],
    ['setMode', { mode: 'on' }, 'mode: must be one of enforce, shadow, off'],
    ['setMode', { policy: null }, 'policy: must be text'],
    ['setLog', { allows_one_in: 0 }, 'allows_one_in: must be at least 1'],
    ['setLog', { allows_one_in: 1e9 + 1 }, 'allows_one_in: must be at most 1000000000'],
    ['setLog', { allows_one_in: 1.5 }, 'allows_one_in: must be a whole number'],
    ['top', { limit: '5' }, 'limit: must be a whole number'],
    ['top', { shadow: 'true' }, 'shadow: must be true or false'],
    ['explain', { headers: [] }, 'headers: must be an object'],
    ['explain', { headers: { a: 5 } }, 'headers.a: must be text or a list of texts'],
    [
      'block',
      { client: 7, mood: 1, for: [] },
      'client: must be text; for: must be text; mood: is not known',
    ],
  ])('of %s that is %j is refused', async (name, fields, message) => {
    const { operate } = setUp();
    const run = operate(name, { ...INPUTS[name], ...fields });
    await expect(run).rejects.toMatchObject({ code: 'invalid', message });
  });

  test('that is not an object is refused', async () => {
    await expect(setUp().operate('block', null)).rejects.toMatchObject({
      ...{ code: 'invalid', message: 'must be an object' },
    });
  });
});

describe('a change that the store did not confirm', () => {
  const failing = (reason: StoreErrorReason) => {
    const gateway = setUp();
    const put = () => Promise.reject(new StoreError(reason, 'Redis did not take the request'));
    Object.assign(gateway.overrideStore, { put });
    return gateway;
  };

  test.each<[StoreErrorReason, string, RegExp]>([
    ['timeout', 'not confirmed', /\(timeout\): the change may or may not have been made; /],
    ['connection', 'not confirmed', /\(connection\): the change may or may not have been made; /],
    ['refused', 'refused', /^Redis does not answer \(refused\): nothing was changed$/],
    ['oom', 'refused', /\(oom\): nothing was changed$/],
    ['noperm', 'refused', /\(noperm\); headgate check --redis says which right .*: nothing/],
  ])('is audited all the same: %s', async (reason, outcome, message) => {
    const { operate, audit } = failing(reason);
    await expect(operate('block', { client: CLIENT, ...TERMS })).rejects.toMatchObject(
      failure('store_unavailable', message),
    );
    expect(audit).toMatchObject([
      { action: 'block', change: `blocked (${outcome} by Redis: ${reason})`, by: 'ada' },
    ]);
  });

  test('is not audited if it was refused for another reason', async () => {
    const { operate, audit, overrideStore } = setUp();
    for (let i = 0; i < MAX_OVERRIDES; i++) {
      await overrideStore.put({ about: `x:${i}`, untilMs: NOON_MS + 1_000, text: 'x' });
    }
    await expect(operate('block', { client: CLIENT, ...TERMS })).rejects.toMatchObject(
      failure('conflict', /1000 .*lift some overrides, or write them into the policy file/),
    );
    expect(audit).toEqual([]);
  });

  test('of what has to be read first is refused without an audit line', async () => {
    const { operate, audit, overrideStore } = setUp();
    const read = () => Promise.reject(new StoreError('timeout', 'Redis did not answer'));
    Object.assign(overrideStore, { read });
    await expect(operate('unblock', { client: CLIENT })).rejects.toMatchObject({
      ...{
        code: 'store_unavailable',
        message: 'Redis does not answer (timeout): nothing was changed',
      },
    });
    expect(audit).toEqual([]);
  });
});
