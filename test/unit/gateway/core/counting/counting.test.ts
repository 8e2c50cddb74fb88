/** What is taken, recorded and reported for a request, besides its decision. */
import { describe, expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../../src/gateway/core/check.ts';
import {
  type Descriptor,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../../../../src/gateway/core/counting/store.ts';
import { NO_OVERRIDES } from '../../../../../src/gateway/core/overrides.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../../../support/requests.ts';

type Answer = 'admit' | 'deny' | 'fail';

/** A store that writes down what it is requested to take, by the names of policies. */
function setUp(yaml: string, answer: Answer = 'admit') {
  const taken: string[][] = [];
  const recorded: string[][] = [];
  const takenLocally: string[][] = [];
  const reported: string[] = [];
  const policyOf = ({ key }: Descriptor) => key.split(':')[3] ?? '';
  const resultOf = (descriptors: readonly Descriptor[], admitted: boolean): TakeResult => ({
    admitted,
    states: descriptors.map(({ quota: { limit } }) => ({
      ...{ limit, remaining: 1, resetAfterMs: 1 },
      retryAfterMs: admitted ? 0 : 1_000,
    })),
    nowMs: NOON_MS,
  });
  const store: Pick<QuotaStore, 'take'> = {
    take: async (descriptors) => {
      taken.push(descriptors.map(policyOf));
      if (answer === 'fail') throw new StoreError('timeout', 'too late');
      return resultOf(descriptors, answer === 'admit');
    },
  };
  const check = createCheck({
    store,
    local: {
      record: (descriptors) => recorded.push(descriptors.map(policyOf)),
      take: (descriptors) => {
        takenLocally.push(descriptors.map(policyOf));
        return resultOf(descriptors, true);
      },
    },
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
    newId: (_decision, { client, isMadeUp }, isShadow) =>
      [client.slice(0, 2), isMadeUp ? 'made up' : '', isShadow ? 'shadow' : '']
        .filter(Boolean)
        .join(' '),
    observer: {
      planned: (plan) => reported.push(`plan ${plan}`),
      identified: (kind) => reported.push(`identified ${kind}`),
      untrustedProxy: () => reported.push('untrusted proxy'),
      headersIgnored: (names) => reported.push(`ignored ${names.join()}`),
      policyUnknown: (name) => reported.push(`unknown ${name}`),
      unmatched: () => reported.push('unmatched'),
      wouldDeny: ({ policy, denial }) => reported.push(`would deny ${policy} ${denial?.id}`),
    },
  });
  const set = policySetFrom(yaml);
  const send = async (parts: Parameters<typeof checkRequest>[0] = {}) => {
    const decision = await check(checkRequest(parts), set, NOON_MS);
    // Policies in shadow mode are taken after the decision.
    await new Promise((resolve) => setImmediate(resolve));
    return decision;
  };
  return { send, taken, recorded, takenLocally, reported };
}

const FILE = `
version: 1
exempt: [198.51.100.7]
block: [198.51.100.8]
default: { limits: [9/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [9/1h], on_store_failure: local }
  - { name: all, always: true, limits: [{ rate: 9/1h, per: global }] }
  - { name: trial, mode: shadow, always: true, limits: [{ rate: 9/1h, per: global }] }
  - { name: idle, mode: off, always: true, limits: [{ rate: 9/1h, per: global }] }`;
const login = { target: '/login' };

describe('policies in shadow mode', () => {
  test('are taken after an allowed request, each alone', async () => {
    const two = FILE.replace('mode: off', 'mode: shadow');
    const { send, taken } = setUp(two);
    await send(login);
    expect(taken).toEqual([['login', 'all'], ['trial'], ['idle']]);
  });
  test('are not taken for a denied request', async () => {
    const { send, taken } = setUp(FILE, 'deny');
    expect((await send(login)).verdict).toBe('deny');
    expect(taken).toEqual([['login', 'all']]);
  });
  test('are not taken if the store failed', async () => {
    const { send, taken } = setUp(FILE, 'fail');
    expect(await send()).toMatchObject({ verdict: 'allow', mode: 'open' });
    expect(taken).toEqual([['default', 'all']]);
  });
  test('report what they would have denied, if nothing enforced applies', async () => {
    const onlyShadow = '{ version: 1, default: { mode: shadow, limits: [9/1h] } }';
    const { send, reported } = setUp(onlyShadow, 'deny');
    expect(await send()).toMatchObject({ verdict: 'allow', reason: 'not_enforced' });
    expect(reported).toContain('would deny default i. shadow');
  });
  test('report nothing that they admit', async () => {
    const { send, reported } = setUp(FILE);
    const decision = await send(login);
    expect(reported).toEqual(['identified ip']);
    expect(decision).not.toHaveProperty('denial');
  });
});

describe('the local limiter', () => {
  test('records admitted requests of policies with on_store_failure: local, and no others', async () => {
    const { send, recorded } = setUp(FILE);
    await send(login);
    expect(recorded).toEqual([['login']]);
  });
  test('records nothing for a request without such a policy', async () => {
    const { send, recorded } = setUp(FILE);
    await send();
    expect(recorded).toEqual([]);
  });
  test('records no denied request', async () => {
    const { send, recorded } = setUp(FILE, 'deny');
    await send(login);
    expect(recorded).toEqual([]);
  });
  test('counts if the store fails, for these policies alone', async () => {
    const { send, takenLocally } = setUp(FILE, 'fail');
    expect(await send(login)).toMatchObject({ verdict: 'allow', mode: 'local', policy: 'login' });
    expect(takenLocally).toEqual([['login']]);
  });
  test('does not count if another policy denies without the store', async () => {
    const strict = FILE.replace('name: all,', 'name: all, on_store_failure: deny,');
    const { send, takenLocally } = setUp(strict, 'fail');
    expect(await send(login)).toMatchObject({ verdict: 'deny', mode: 'closed', policy: 'all' });
    expect(takenLocally).toEqual([]);
  });
});

describe('an exempt client', () => {
  test.each([
    ['', {}],
    [', even on a route that names a policy', { policy: 'login' }],
    [', even on a route that names a policy that does not exist', { policy: 'nothing' }],
    [', even if its key can be read in several ways', { headers: { 'x-api-key': 'a,b' } }],
  ])('is not counted%s', async (_, parts) => {
    const { send, taken } = setUp(FILE, 'deny');
    expect(await send({ client: '198.51.100.7', ...parts })).toMatchObject({
      ...{ verdict: 'allow', reason: 'exempt', policy: 'none' },
    });
    expect(taken).toEqual([]);
  });
  test('is refused with a malformed host', async () => {
    const decision = await setUp(FILE).send({ client: '198.51.100.7', host: 'a:1:2' });
    expect(decision.reason).toBe('malformed_host');
  });
});

describe('a refused request is not counted', () => {
  test.each([
    ['blocked', { client: '198.51.100.8' }],
    ['blocked', { client: '198.51.100.8', headers: { 'x-api-key': 'a,b' } }],
    ['ambiguous_identity', { headers: { 'x-api-key': 'a,b' }, host: 'a:1:2' }],
    ['malformed_host', { host: 'a:1:2', target: '/%00' }],
    ['malformed_path', { target: '/%00' }],
  ])('%s: %j', async (reason, parts) => {
    const { send, taken, reported } = setUp(FILE);
    expect(await send(parts)).toMatchObject({ verdict: 'deny', reason, policy: 'none' });
    expect(taken).toEqual([]);
    expect(reported.filter((event) => event === 'unmatched')).toEqual([]);
  });
});

describe('events', () => {
  test('a request that matches no policy', async () => {
    const { send, reported } = setUp(FILE);
    await send();
    expect(reported).toEqual(['identified ip', 'unmatched']);
  });
  test('a policy that the proxy names and that does not exist', async () => {
    const { send, reported } = setUp(FILE);
    await send({ ...login, policy: 'nothing' });
    expect(reported).toEqual(['identified ip', 'unknown nothing']);
    await send({ ...login, policy: 'login' });
    expect(reported).toHaveLength(3);
  });
  test('a proxy that is not trusted, and the headers that it may not set', async () => {
    const { send, reported } = setUp(FILE);
    await send({ ...login, proxy: '203.0.113.1', headers: { 'x-real-ip': '1.1.1.1' } });
    expect(reported).toEqual(['identified ip', 'untrusted proxy', 'ignored x-real-ip']);
  });
});

describe('a denial says whether its client may be invented', () => {
  test.each([
    ['i.', {}],
    ['k. made up', { headers: { 'x-api-key': 'invented' } }],
  ])('%s', async (id, parts) => {
    const { denial } = await setUp(FILE, 'deny').send(parts);
    expect(denial?.id).toBe(id);
    expect(denial?.isMadeUp).toBe(id.endsWith('made up'));
  });
  test('a user with an invented key is counted as the user', async () => {
    const users = FILE.replace('exempt:', 'identity: { sources: [user, api_key, ip] }\nexempt:');
    const headers = { 'x-user': 'ann', 'x-api-key': 'invented' };
    const { denial } = await setUp(users, 'deny').send({ headers });
    expect(denial).toMatchObject({ id: 'u.', isMadeUp: false, identity: 'user' });
  });
});

test('salts for long windows are used only if a policy or an override needs them', () => {
  const requested: boolean[] = [];
  const limits = (window: string) =>
    policySetFrom(`{ version: 1, default: { limits: [9/1h], plans: { pro: [9/${window}] } } }`);
  const run = (window: string, hasLongAddresses: boolean) => {
    const check = createCheck({
      store: { take: () => ({ admitted: true, states: [STATE], nowMs: NOON_MS }) },
      local: { record: () => {}, take: () => ({ admitted: true, states: [], nowMs: NOON_MS }) },
      salts: {
        at: (nowMs, hasLongWindows) => {
          expect(nowMs).toBe(NOON_MS);
          requested.push(hasLongWindows);
          return SALTS;
        },
      },
      overrides: { current: { ...NO_OVERRIDES, hasLongAddresses } },
      newId: () => 'an-id',
      observer: UNOBSERVED,
    });
    void check(checkRequest(), limits(window), NOON_MS);
  };
  run('1d', false);
  run('25h', false);
  run('1d', true);
  expect(requested).toEqual([false, true, true]);
});

const STATE = { limit: 9, remaining: 8, resetAfterMs: 1, retryAfterMs: 0 };
