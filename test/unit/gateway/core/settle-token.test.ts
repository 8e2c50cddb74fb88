import { describe, expect, test } from 'vitest';
import { type CheckOptions, createCheck, UNOBSERVED } from '../../../../src/gateway/core/check.ts';
import type { Decision } from '../../../../src/gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../../../src/gateway/core/counting/descriptor.ts';
import type { Reservation } from '../../../../src/gateway/core/counting/reservation.ts';
import {
  type Descriptor,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../../../src/gateway/core/counting/store.ts';
import { NO_OVERRIDES } from '../../../../src/gateway/core/overrides.ts';
import { countOnce } from '../../../../src/gateway/core/repeated-check.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS, SALTS } from '../../../support/requests.ts';

const TOKENS =
  '{ rate: 1000/1h, algorithm: fixed-window, unit: tokens, reserve: 300, unknown: 300 }';

/** The policy `chat` of the path /chat, with others that apply to all requests. */
function fileOf(chat: string, others = '') {
  return `
version: 1
exempt: [203.0.113.1]
block: [203.0.113.2]
default: { limits: [1000/1h] }
policies:
  - { name: chat, match: { path: /chat }, ${chat} }
${others}`;
}

const always = (name: string, mode: string, limits: string) =>
  `  - { name: ${name}, always: true, mode: ${mode}, limits: ${limits} }\n`;

function setUp(policies: string, options: Partial<CheckOptions> = {}) {
  const set = policySetFrom(policies);
  const memory = () => new MemoryStore({ now: () => NOON_MS, maxKeys: 100 });
  const issued: Reservation[] = [];
  const wouldDeny: string[] = [];
  const check = countOnce(
    createCheck({
      store: memory(),
      local: memory(),
      salts: { at: () => SALTS },
      overrides: { current: NO_OVERRIDES },
      newId: () => 'an-id',
      observer: { ...UNOBSERVED, wouldDeny: ({ policy }) => wouldDeny.push(policy) },
      issueToken: (reservation) => `token ${issued.push(reservation)}`,
      ...options,
    }),
  );
  const send = (parts: Parameters<typeof checkRequest>[0] = {}) =>
    check(checkRequest({ target: '/chat', ...parts }), set, NOON_MS);
  return { send, issued, wouldDeny, partsOf };
}

/** The policy of each part, with its units. */
function partsOf(reservation: Reservation | undefined) {
  return reservation?.parts.map(({ limit, units }) => [limit.policy.name, units]);
}

/** A store whose answers are given one by one. */
class HeldStore implements QuotaStore {
  readonly takes: {
    readonly policy: string;
    readonly answer: (result: TakeResult | Error) => void;
  }[] = [];

  take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const [{ source }] = descriptors as [LimitDescriptor];
    return new Promise((resolve, reject) => {
      const answer = (result: TakeResult | Error) =>
        result instanceof Error ? reject(result) : resolve(result);
      this.takes.push({ policy: source.policy.name, answer });
    });
  }

  answer(policy: string, result: TakeResult | Error = admitted()): void {
    this.takes.find((each) => each.policy === policy)?.answer(result);
  }

  get taken(): string[] {
    return this.takes.map(({ policy }) => policy);
  }

  reset(): Promise<void> {
    return Promise.resolve();
  }
}

const state = { limit: 1_000, remaining: 700, resetAfterMs: 1, retryAfterMs: 0 };
const admitted = (nowMs = NOON_MS): TakeResult => ({ admitted: true, states: [state], nowMs });
const denied: TakeResult = {
  admitted: false,
  states: [{ ...state, remaining: 0, retryAfterMs: 9 }],
  nowMs: NOON_MS,
};

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function isPending(decision: Decision | Promise<Decision>): Promise<boolean> {
  await settled();
  return (await Promise.race([decision, Promise.resolve('pending')])) === 'pending';
}

describe('an allowed request', () => {
  test('has the token of what its limits reserved', async () => {
    const { send, issued } = setUp(
      fileOf(`limits: [${TOKENS}, 60/1min]`, always('all', 'enforce', '[90/1h]')),
    );
    expect(await send()).toMatchObject({ verdict: 'allow', settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([[['chat', 300]]]);
  });
  test('has the same token when it is checked again', async () => {
    const { send, issued } = setUp(fileOf(`limits: [${TOKENS}]`));
    const first = await send({ requestId: 'r' });
    expect(await send({ requestId: 'r' })).toEqual({ ...first, isRepeated: true });
    expect(first.settleToken).toBe('token 1');
    expect(issued).toHaveLength(1);
  });
  test.each([
    ['whose policies charge nothing afterwards', '/other', undefined],
    ['that is exempt', '/chat', '203.0.113.1'],
    ['of a policy that is off', '/off', undefined],
  ])('%s has no token', async (_, target, client) => {
    const off = `  - { name: off, mode: off, match: { path: /off }, limits: [${TOKENS}] }\n`;
    const { send } = setUp(fileOf(`limits: [${TOKENS}]`, off));
    const decision = await send({ target, ...(client !== undefined && { client }) });
    expect(decision.verdict).toBe('allow');
    expect(decision).not.toHaveProperty('settleToken');
  });
  test('has no token without a signer', async () => {
    const { send } = setUp(fileOf(`limits: [${TOKENS}]`), { issueToken: undefined });
    expect(await send()).not.toHaveProperty('settleToken');
  });
});

describe('a denied request has no token', () => {
  test('over its limit', async () => {
    const { send, issued } = setUp(fileOf(`limits: [${TOKENS}]`));
    for (let i = 0; i < 3; i++) await send();
    expect(await send()).toMatchObject({ verdict: 'deny', reason: 'over_limit' });
    expect(issued).toHaveLength(3);
  });
  test('if its client is blocked', async () => {
    const { send } = setUp(fileOf(`limits: [${TOKENS}]`));
    expect(await send({ client: '203.0.113.2' })).not.toHaveProperty('settleToken');
  });
});

describe('if the store fails', () => {
  const failing: QuotaStore = {
    take: () => Promise.reject(new StoreError('timeout', 'too late')),
    reset: () => Promise.resolve(),
  };
  test.each(['allow', 'deny'])('%s: nothing was counted, so there is no token', async (mode) => {
    const { send } = setUp(fileOf(`limits: [${TOKENS}], on_store_failure: ${mode}`), {
      store: failing,
    });
    const decision = await send();
    expect(decision).toMatchObject({ verdict: mode, reason: 'store_failure' });
    expect(decision).not.toHaveProperty('settleToken');
  });
  test('local: the reservation says that this process counted it', async () => {
    const { send, issued } = setUp(
      fileOf(
        `limits: [${TOKENS}], on_store_failure: local`,
        always('try', 'shadow', `[${TOKENS}]`),
      ),
      { store: failing },
    );
    expect(await send()).toMatchObject({ mode: 'local', settleToken: 'token 1' });
    expect(issued).toMatchObject([{ mode: 'local' }]);
    expect(issued.map(partsOf)).toEqual([[['chat', 300]]]);
  });
});

describe('a policy in shadow mode that settles', () => {
  const SHADOW = fileOf(
    `limits: [${TOKENS}]`,
    always('try', 'shadow', `[${TOKENS}]`) + always('plain', 'shadow', '[5/1h]'),
  );
  test('is counted after the decision and before the token', async () => {
    const store = new HeldStore();
    const { send, issued } = setUp(SHADOW, { store });
    const decision = send();
    expect(store.taken).toEqual(['chat']);
    store.answer('chat');
    expect(await isPending(decision)).toBe(true);
    // Nobody waits for the policy that does not settle.
    expect(store.taken).toEqual(['chat', 'plain', 'try']);
    store.answer('try', admitted(NOON_MS + 2));
    expect(await decision).toMatchObject({ verdict: 'allow', settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([
      [
        ['chat', 300],
        ['try', 300],
      ],
    ]);
    expect(issued[0]?.parts.map(({ momentMs }) => momentMs)).toEqual([NOON_MS, NOON_MS + 2]);
  });
  test('that is late is left out, and the deadline is that of the whole request', async () => {
    const store = new HeldStore();
    let end = () => {};
    let deadlines = 0;
    const deadline = () => {
      deadlines++;
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    };
    const { send, issued, wouldDeny } = setUp(SHADOW, { store, deadline });
    const decision = send();
    expect(deadlines).toBe(1);
    store.answer('chat');
    expect(await isPending(decision)).toBe(true);
    end();
    expect(await decision).toMatchObject({ verdict: 'allow', settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([[['chat', 300]]]);
    store.answer('try', denied);
    await settled();
    expect(wouldDeny).toEqual(['try']);
    expect(issued).toHaveLength(1);
  });
  test('that would deny settles to nothing, and the others do', async () => {
    const store = new HeldStore();
    const { send, issued, wouldDeny } = setUp(SHADOW, { store });
    const decision = send();
    store.answer('chat');
    await settled();
    store.answer('try', denied);
    expect(await decision).toMatchObject({ verdict: 'allow', settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([[['chat', 300]]]);
    expect(wouldDeny).toEqual(['try']);
  });
  test('whose store fails is left out', async () => {
    const store = new HeldStore();
    const { send, issued } = setUp(SHADOW, { store });
    const decision = send();
    store.answer('chat');
    await settled();
    store.answer('try', new StoreError('timeout', 'too late'));
    expect(await decision).toMatchObject({ verdict: 'allow', settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([[['chat', 300]]]);
  });
  test('is not counted if the request is denied', async () => {
    const store = new HeldStore();
    const { send } = setUp(SHADOW, { store });
    const decision = send();
    store.answer('chat', denied);
    expect(await decision).toMatchObject({ verdict: 'deny' });
    expect(store.taken).toEqual(['chat']);
  });
  test('has a token without an enforced policy', async () => {
    const { send, issued } = setUp(fileOf(`mode: shadow, limits: [${TOKENS}]`));
    expect(send()).toMatchObject({ reason: 'not_enforced', settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([[['chat', 300]]]);
  });
  test('is counted without waiting if the store is in this process', () => {
    const { send, issued } = setUp(SHADOW);
    expect(send()).toMatchObject({ settleToken: 'token 1' });
    expect(issued.map(partsOf)).toEqual([
      [
        ['chat', 300],
        ['try', 300],
      ],
    ]);
  });
});

describe('nobody waits for policies in shadow mode', () => {
  test('that charge nothing afterwards', async () => {
    const store = new HeldStore();
    let deadlines = 0;
    const { send } = setUp(fileOf('limits: [9/1h]', always('plain', 'shadow', '[5/1h]')), {
      store,
      deadline: () => Promise.resolve(deadlines++),
    });
    const decision = send();
    store.answer('chat');
    expect(await decision).toMatchObject({ verdict: 'allow' });
    expect(store.taken).toEqual(['chat', 'plain']);
    expect(deadlines).toBe(0);
  });
  test('if nothing can be settled', async () => {
    const store = new HeldStore();
    const shadow = always('try', 'shadow', `[${TOKENS}]`);
    const { send } = setUp(fileOf('limits: [9/1h]', shadow), { store, issueToken: undefined });
    const decision = send();
    store.answer('chat');
    expect(await decision).not.toHaveProperty('settleToken');
    expect(store.taken).toEqual(['chat', 'try']);
  });
});
