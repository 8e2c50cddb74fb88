/** What a token and an outcome change in the store, and what is reported. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { KEY_PREFIX } from '../../../../src/gateway/core/counting/descriptor.ts';
import type { Outcome } from '../../../../src/gateway/core/counting/outcome.ts';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import type { Limit, Policy } from '../../../../src/gateway/core/policy.ts';
import { createSettling } from '../../../../src/gateway/settlement/settling.ts';
import { listedKeys } from '../../../../src/gateway/settlement/signing-keys.ts';
import { NOON_MS } from '../../../support/requests.ts';
import {
  ALICE,
  limitOf,
  partition,
  REFUND,
  reservation,
  settlementStore,
  settlingPolicy,
} from '../../../support/settling.ts';

const KEYS = listedKeys(['a key of this test, at least 32 characters']);
const LIFE_MS = 900_000;
const AWAY = new StoreError('connection', 'the store is away');
const used = (tokens: number): Outcome => ({ units: new Map([['tokens', tokens]]) });

let store: ReturnType<typeof settlementStore>;
let local: ReturnType<typeof settlementStore>;
let counted: string[];
let nowMs: number;
let current: { policies: readonly Policy[] };
beforeEach(() => {
  [store, local] = [settlementStore(), settlementStore()];
  counted = [];
  nowMs = NOON_MS;
  current = { policies: [settlingPolicy()] };
});

function gateway({ keys = KEYS, hasLocal = true } = {}) {
  return createSettling({
    ...{ store, keys, lifeMs: LIFE_MS, closeWithinMs: 1_000 },
    local: hasLocal ? local : undefined,
    policies: {
      get current() {
        return current;
      },
    },
    now: () => nowMs,
    events: {
      reserved: (policy) => void counted.push(`reserved ${policy}`),
      counted: (policy, channel, result) => void counted.push(`${policy} ${channel} ${result}`),
      cut: (limit, units) => void counted.push(`cut ${limit} ${units}`),
      waiting: (settlements) => void counted.push(`waiting ${settlements}`),
      lost: (settlements) => void counted.push(`lost ${settlements}`),
      failed: (error) => void counted.push(`failed ${error}`),
    },
  });
}

const firstLimit = (policy = current.policies[0]) => (policy as Policy).limits[0] as Limit;
const tokenOf = (limits = [firstLimit()], from = gateway()) => from.issueToken(reservation(limits));

describe('a settlement', () => {
  test('corrects the counter of the reservation, by the number of the file in force', async () => {
    const token = tokenOf();
    current = { policies: [settlingPolicy({ limits: [limitOf({ limit: 7_000 })] })] };
    expect(await gateway().settle(token, used(812), 'settle')).toBe('settled');
    const { keySuffix, quota } = firstLimit();
    expect(store.settled).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{16}$/),
        endsMs: NOON_MS + LIFE_MS,
        parts: [
          {
            key: KEY_PREFIX + ALICE + keySuffix,
            quota,
            momentMs: NOON_MS,
            reserved: 500,
            used: 812,
          },
        ],
      },
    ]);
    expect(quota.limit).toBe(7_000);
    expect(counted).toEqual(['reserved completions', 'completions settle settled']);
  });

  test('is counted once, whatever is reported the second time', async () => {
    const { settle, ...from } = gateway();
    const token = tokenOf(undefined, { settle, ...from });
    expect(await settle(token, used(812), 'settle')).toBe('settled');
    expect(await settle(token, used(0), 'envoy')).toBe('repeated');
    expect(store.settled).toHaveLength(1);
    expect(counted.slice(1)).toEqual(['completions settle settled', 'completions envoy repeated']);
  });

  test('of an outcome without units costs the larger of unknown and the reservation', async () => {
    for (const outcome of [{}, used(Number.NaN), used(-5), used(2 ** 53), used(1.5)]) {
      const limit = firstLimit();
      const token = gateway().issueToken({
        ...reservation([limit]),
        parts: [
          {
            limit,
            partition: partition('u', `${store.settled.length}`),
            units: 500,
            momentMs: NOON_MS,
          },
        ],
      });
      await gateway().settle(token, outcome, 'settle');
      expect(store.settled.at(-1)?.parts[0]?.used).toBe(8_000);
    }
  });

  test('that gives back is sent even if nothing changes, so that another outcome comes too late', async () => {
    current = { policies: [settlingPolicy({ limits: [limitOf({ afterwards: REFUND })] })] };
    const token = tokenOf();
    expect(await gateway().settle(token, { status: 401 }, 'settle')).toBe('settled');
    expect(store.settled[0]?.parts[0]).toMatchObject({ reserved: 500, used: 500 });
    expect(await gateway().settle(token, { status: 204 }, 'settle')).toBe('repeated');
  });

  test('names the units that it lacks, if it has others: they may be misspelled', async () => {
    const settled = (outcome: Outcome) => gateway().settle(tokenOf(), outcome, 'settle');
    const units = new Map([['token', 5]]);
    expect(await settled({ units })).toEqual({ result: 'settled', missingUnits: ['tokens'] });
    expect(store.settled[0]?.parts[0]?.used).toBe(8_000);
    expect(counted.at(-1)).toBe('completions settle settled');
    expect(await settled({ status: 200 })).toBe('settled');
    expect(await settled({ units: new Map([...units, ['tokens', 5]]) })).toBe('settled');
  });

  test.each([
    ['all that is missing, each once', { status: 401 }, ['tokens', 'images']],
    ['none for what is refunded', { status: 204 }, ['images']],
  ])('names %s, also if nothing was reserved', async (_, outcome, missingUnits) => {
    const charging = { unit: 'tokens', reserve: 0, unknown: undefined, refund: REFUND.refund };
    const limits = [
      limitOf({ afterwards: charging }),
      limitOf({ afterwards: charging, window: '2h', windowMs: 7_200_000 }),
      limitOf({ afterwards: { ...charging, unit: 'images', refund: undefined } }),
      limitOf({ afterwards: REFUND, window: '3h', windowMs: 10_800_000 }),
    ];
    current = { policies: [settlingPolicy({ limits })] };
    const token = tokenOf([...(current.policies[0] as Policy).limits]);
    const units = new Map([['token', 5]]);
    expect(await gateway().settle(token, { ...outcome, units }, 'settle')).toEqual({
      result: 'settled',
      missingUnits,
    });
  });

  test('is one for all parts, and reported for each policy', async () => {
    const login = settlingPolicy({ name: 'login', limits: [limitOf({ afterwards: REFUND })] });
    current = { policies: [settlingPolicy(), login] };
    const token = tokenOf([firstLimit(), firstLimit(login)]);
    store.states = ['settled', 'gone'];
    expect(await gateway().settle(token, used(1), 'envoy')).toBe('settled');
    expect(store.settled).toHaveLength(1);
    expect(counted).toEqual([
      'reserved completions',
      'reserved login',
      'completions envoy settled',
      'login envoy gone',
    ]);
  });

  test('whose surplus is larger than the limit is cut, and says so', async () => {
    store.cut = 77;
    expect(await gateway().settle(tokenOf(), used(300_000), 'settle')).toBe('settled');
    expect(counted.slice(1)).toEqual(['cut completions 77', 'completions settle cut']);
  });

  test.each(['gone', 'reset', 'repeated', 'ended'] as const)('that ends as %s', async (state) => {
    store.states = [state];
    expect(await gateway().settle(tokenOf(), used(1), 'settle')).toBe(state);
    expect(counted.slice(1)).toEqual([`completions settle ${state}`]);
  });
});

describe('refused, and nothing changes:', () => {
  test('what is no token, and a token of another key', async () => {
    const { settle } = gateway();
    const other = gateway({ keys: listedKeys(['a key of somebody, at least 32 characters']) });
    expect(await settle('x'.repeat(500), {}, 'settle')).toBe('malformed');
    expect(await settle(tokenOf(undefined, other), {}, 'settle')).toBe('forged');
    expect(counted).toEqual([
      'none settle malformed',
      'reserved completions',
      'none settle forged',
    ]);
    expect(store.settled).toEqual([]);
  });

  test('a token that has ended', async () => {
    const token = tokenOf();
    nowMs = NOON_MS + LIFE_MS;
    expect(await gateway().settle(token, used(1), 'settle')).toBe('ended');
    expect(counted.slice(1)).toEqual(['completions settle ended']);
    nowMs--;
    expect(await gateway().settle(token, used(1), 'settle')).toBe('settled');
  });

  test('limits that the file in force does not have; the others go on', async () => {
    const login = settlingPolicy({ name: 'login', limits: [limitOf({ afterwards: REFUND })] });
    const token = tokenOf([firstLimit(), firstLimit(login)]);
    expect(await gateway().settle(token, used(3), 'settle')).toBe('settled');
    expect(store.settled[0]?.parts).toHaveLength(1);
    expect(counted.slice(2)).toEqual(['none settle unknown_limit', 'completions settle settled']);
    current = { policies: [] };
    expect(await gateway().settle(token, used(3), 'settle')).toBe('unknown_limit');
    expect(store.settled).toHaveLength(1);
  });

  test('a plan and a form that the file in force does not have', async () => {
    const limits = [limitOf()];
    const policy = settlingPolicy({ limits, plans: { pro: limits } });
    const [ofPlan] = policy.plans.get('pro') as [Limit];
    const { unverified, wider } = firstLimit(policy);
    const tokens = [ofPlan, wider[1] as Limit].map((limit) => tokenOf([limit]));
    const known = tokenOf([unverified as Limit]);
    current = { policies: [settlingPolicy({ prefixes: [56] })] };
    for (const token of tokens) {
      expect(await gateway().settle(token, used(1), 'settle')).toBe('unknown_limit');
    }
    expect(await gateway().settle(known, used(1), 'settle')).toBe('settled');
    expect(store.settled[0]?.parts[0]?.quota.limit).toBe(1_000_000);
  });
});

describe('while the store failed, a request that one gateway counted', () => {
  const localToken = (from: ReturnType<typeof gateway>) =>
    from.issueToken(reservation([firstLimit()], 'local'));

  test('is settled by that gateway alone, and only there', async () => {
    const own = gateway();
    const token = localToken(own);
    expect(await gateway().settle(token, used(1), 'settle')).toBe('elsewhere');
    expect(local.settled).toEqual([]);
    expect(await own.settle(token, used(1), 'settle')).toBe('settled');
    expect([local.settled.length, store.settled.length]).toEqual([1, 0]);
  });

  test('is not settled once that gateway was started again', async () => {
    const token = localToken(gateway());
    expect(await gateway().settle(token, used(1), 'settle')).toBe('elsewhere');
    expect(counted.at(-1)).toBe('completions settle elsewhere');
  });
});

describe('what the store counted, the gateway that admitted it', () => {
  test('corrects in its own limiter, too, and no other gateway does', async () => {
    const own = gateway();
    const token = tokenOf(undefined, own);
    await gateway().settle(token, used(1), 'settle');
    expect(local.settled).toEqual([]);
    await own.settle(token, used(1), 'settle');
    expect(local.settled).toHaveLength(1);
  });

  test('corrects there only for policies that count locally', async () => {
    current = { policies: [settlingPolicy({ onStoreFailure: 'deny' })] };
    const own = gateway();
    await own.settle(tokenOf(undefined, own), used(1), 'settle');
    expect([local.settled.length, store.settled.length]).toEqual([0, 1]);
  });

  test('settles once if the store is in this process', async () => {
    const own = gateway({ hasLocal: false });
    await own.settle(tokenOf(undefined, own), used(1), 'settle');
    expect([local.settled.length, store.settled.length]).toEqual([0, 1]);
  });
});

describe('if the store fails', () => {
  beforeEach(() => void vi.useFakeTimers());

  test('settlements wait, and are counted once it works again', async () => {
    const { settle, close } = gateway();
    store.fails = AWAY;
    const token = tokenOf();
    expect(await settle(token, used(9), 'settle')).toBe('waiting');
    store.fails = undefined;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(store.settled[0]?.parts[0]?.used).toBe(9);
    expect(counted.slice(1)).toEqual([
      'waiting 1',
      'completions settle waiting',
      'waiting 0',
      'completions settle settled',
    ]);
    await close();
    vi.useRealTimers();
  });

  test('a fault of headgate is reported, and the settlement is lost', async () => {
    store.fails = new Error('a fault');
    expect(await gateway().settle(tokenOf(), used(9), 'settle')).toBe('lost');
    expect(counted.slice(1)).toEqual(['failed Error: a fault', 'completions settle lost']);
    vi.useRealTimers();
  });
});

test('no token is issued for a limit that charges nothing afterwards', () => {
  const plain = settlingPolicy({ limits: [limitOf({ afterwards: undefined })] });
  expect(() => tokenOf([firstLimit(plain)])).toThrow(RangeError);
});

test('requests of one client in one millisecond have different tokens', () => {
  const from = gateway();
  expect(tokenOf([firstLimit()], from)).not.toBe(tokenOf([firstLimit()], from));
});
