import { expect, test } from 'vitest';
import { createCheck, NO_EVENTS } from '../../../src/core/check.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { NO_OVERRIDES } from '../../../src/core/overrides.ts';
import type { QuotaStore } from '../../../src/core/store.ts';
import { StoreError } from '../../../src/core/store.ts';
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts';
import { policySetFrom } from '../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../support/requests.ts';

function setUp(policies: string, store: QuotaStore = memory()) {
  const set = policySetFrom(policies);
  const wouldDeny: Decision[] = [];
  const check = createCheck({
    store,
    local: memory(),
    salts: { at: () => SALTS },
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    events: { ...NO_EVENTS, wouldDeny: (decision) => wouldDeny.push(decision) },
  });
  const ask = async (target: string, missing: readonly string[] = []) => {
    const decision = await check(checkRequest({ target, missing }), set, NOON_MS);
    // What a policy in shadow makes of it is known a moment later.
    await new Promise((resolve) => setImmediate(resolve));
    return decision;
  };
  return { ask, wouldDeny };
}

const memory = () => new MemoryStore({ now: () => NOON_MS, maxKeys: 100 });

const LOGIN = (mode: string) => `
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: login, mode: ${mode}, match: { path: /login }, limits: [2/1h] }
  - { name: all, always: true, limits: [{ rate: 5/1h, per: global }] }`;

test('a policy in shadow denies nobody, and tells what it would have denied', async () => {
  const { ask, wouldDeny } = setUp(LOGIN('shadow'));
  const verdicts = [];
  for (let i = 0; i < 4; i++) verdicts.push((await ask('/login')).verdict);
  expect(verdicts).toEqual(['allow', 'allow', 'allow', 'allow']);
  expect(wouldDeny).toMatchObject([
    { policy: 'login', verdict: 'deny', denial: { id: 'an-id', identity: 'ip' } },
    { policy: 'login', verdict: 'deny' },
  ]);
});

test('what is enforced speaks, and is not used up by what is in shadow', async () => {
  const { ask, wouldDeny } = setUp(LOGIN('shadow'));
  const decisions = [];
  for (let i = 0; i < 7; i++) decisions.push(await ask('/login'));
  expect(decisions.map(({ verdict }) => verdict)).toEqual([
    ...Array(5).fill('allow'),
    'deny',
    'deny',
  ]);
  expect(decisions[0]).toMatchObject({ policy: 'all', binding: { state: { remaining: 4 } } });
  // The last two never came as far as the shadow.
  expect(wouldDeny).toHaveLength(3);
});

test('a policy that is off counts nothing and denies nobody, and nothing else takes its place', async () => {
  const { ask, wouldDeny } = setUp(`
version: 1
default: { limits: [1/1h] }
policies:
  - { name: login, mode: off, match: { path: /login }, limits: [1/1h] }`);
  const decisions = [];
  for (let i = 0; i < 3; i++) decisions.push(await ask('/login'));
  for (const decision of decisions) {
    expect(decision).toMatchObject({ verdict: 'allow', reason: 'not_enforced', policy: 'login' });
  }
  expect(wouldDeny).toEqual([]);
  expect((await ask('/other')).verdict).toBe('allow');
  expect((await ask('/other')).verdict).toBe('deny');
});

test('a request that cannot be placed is held to the strictest policy that is enforced', async () => {
  const { ask } = setUp(LOGIN('shadow'));
  expect(await ask('/', ['x-original-uri'])).toMatchObject({ reason: 'within_limits' });
  const { ask: askOff } = setUp(LOGIN('off'));
  expect(await askOff('/', ['x-original-uri'])).toMatchObject({ reason: 'within_limits' });
});

test('a store that fails a policy in shadow fails nobody', async () => {
  const broken: QuotaStore = {
    take: () => Promise.reject(new StoreError('timeout', 'too late')),
    reset: async () => {},
  };
  const { ask, wouldDeny } = setUp(
    `{ version: 1, default: { mode: shadow, limits: [1/1h] } }`,
    broken,
  );
  expect(await ask('/')).toMatchObject({ verdict: 'allow', reason: 'not_enforced' });
  expect(wouldDeny).toEqual([]);
});
