import { expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../src/gateway/core/check.ts';
import type { Decision } from '../../../../src/gateway/core/counting/decision.ts';
import { type QuotaStore, StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { NO_OVERRIDES } from '../../../../src/gateway/core/overrides.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

function setUp(policies: string, store: QuotaStore = memory()) {
  const set = policySetFrom(policies);
  const wouldDeny: Decision[] = [];
  const check = createCheck({
    store,
    local: memory(),
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    observer: { ...UNOBSERVED, wouldDeny: (decision) => wouldDeny.push(decision) },
  });
  const send = async (target: string, missing: readonly string[] = []) => {
    const decision = await check(checkRequest({ target, missing }), set, NOON_MS);
    // Policies in shadow mode are taken after the decision.
    await new Promise((resolve) => setImmediate(resolve));
    return decision;
  };
  return { send, wouldDeny };
}

const memory = () => new MemoryStore({ now: () => NOON_MS, maxKeys: 100 });

const LOGIN = (mode: string) => `
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: login, mode: ${mode}, match: { path: /login }, limits: [2/1h] }
  - { name: all, always: true, limits: [{ rate: 5/1h, per: global }] }`;

test('a policy in shadow mode denies no request and reports what it would have denied', async () => {
  const { send, wouldDeny } = setUp(LOGIN('shadow'));
  const verdicts = [];
  for (let i = 0; i < 4; i++) verdicts.push((await send('/login')).verdict);
  expect(verdicts).toEqual(['allow', 'allow', 'allow', 'allow']);
  expect(wouldDeny).toMatchObject([
    { policy: 'login', verdict: 'deny', denial: { id: 'an-id', identity: 'ip' } },
    { policy: 'login', verdict: 'deny' },
  ]);
});

test('enforced policies decide, and policies in shadow mode take nothing from their limits', async () => {
  const { send, wouldDeny } = setUp(LOGIN('shadow'));
  const decisions = [];
  for (let i = 0; i < 7; i++) decisions.push(await send('/login'));
  expect(decisions.map(({ verdict }) => verdict)).toEqual([
    ...Array(5).fill('allow'),
    'deny',
    'deny',
  ]);
  expect(decisions[0]).toMatchObject({ policy: 'all', binding: { state: { remaining: 4 } } });
  // The last two requests were denied, so the shadow policy did not count them.
  expect(wouldDeny).toHaveLength(3);
});

test('a policy that is off counts nothing and denies no request, and no other policy replaces it', async () => {
  const { send, wouldDeny } = setUp(`
version: 1
default: { limits: [1/1h] }
policies:
  - { name: login, mode: off, match: { path: /login }, limits: [1/1h] }`);
  const decisions = [];
  for (let i = 0; i < 3; i++) decisions.push(await send('/login'));
  for (const decision of decisions) {
    expect(decision).toMatchObject({ verdict: 'allow', reason: 'not_enforced', policy: 'login' });
  }
  expect(wouldDeny).toEqual([]);
  expect((await send('/other')).verdict).toBe('allow');
  expect((await send('/other')).verdict).toBe('deny');
});

test('a request without a path gets the strictest policy that is enforced', async () => {
  const { send } = setUp(LOGIN('shadow'));
  expect(await send('/', ['x-original-uri'])).toMatchObject({ reason: 'within_limits' });
  const { send: sendOff } = setUp(LOGIN('off'));
  expect(await sendOff('/', ['x-original-uri'])).toMatchObject({ reason: 'within_limits' });
});

test('a store failure in shadow mode denies no request', async () => {
  const broken: QuotaStore = {
    take: () => Promise.reject(new StoreError('timeout', 'too late')),
    reset: async () => {},
  };
  const { send, wouldDeny } = setUp(
    `{ version: 1, default: { mode: shadow, limits: [1/1h] } }`,
    broken,
  );
  expect(await send('/')).toMatchObject({ verdict: 'allow', reason: 'not_enforced' });
  expect(wouldDeny).toEqual([]);
});
