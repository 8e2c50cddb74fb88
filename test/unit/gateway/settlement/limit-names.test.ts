import { expect, test } from 'vitest';
import { everyLimit, type Limit } from '../../../../src/gateway/core/policy.ts';
import { digits } from '../../../../src/gateway/settlement/digits.ts';
import { limitIndex, limitNames } from '../../../../src/gateway/settlement/limit-names.ts';
import { limitOf, REFUND, settlingPolicy } from '../../../support/settling.ts';

const HOUR = limitOf();
const MONTH = limitOf({ algorithm: 'fixed-window', window: 'month', windowMs: 31 * 86_400_000 });
const PLAIN = limitOf({ afterwards: undefined, window: '1min', windowMs: 60_000 });
const LOGIN = settlingPolicy({ name: 'login', limits: [limitOf({ afterwards: REFUND })] });

const nameOf = (limit: Limit) => limitNames(limit.policy).get(limit);

test('each limit that charges afterwards has a name for each of its forms, also in plans', () => {
  const policy = settlingPolicy({ limits: [HOUR, PLAIN], plans: { pro: [HOUR, MONTH] } });
  const names = [...limitNames(policy).values()];
  // As written, for unverified keys, and both for two wider networks.
  expect(names).toHaveLength(3 * 6);
  expect(new Set(names).size).toBe(18);
  const forms = [0, 56, 48, 128, 184, 176].map((form) => digits(form, 2));
  expect(names.slice(0, 6).map((name) => name.slice(8))).toEqual(forms);
  expect(names.every((name) => /^[\w-]{10}$/.test(name))).toBe(true);
});

test('a policy file in another order has the same names', () => {
  const before = settlingPolicy({ limits: [HOUR, PLAIN, MONTH] });
  const after = settlingPolicy({ limits: [MONTH, HOUR], prefixes: [60, 56, 48] });
  const index = limitIndex([LOGIN, after]);
  for (const limit of everyLimit(before).filter(({ afterwards }) => afterwards)) {
    for (const form of [limit, ...limit.wider, limit.unverified as Limit]) {
      const found = index.get(nameOf(form) as string);
      expect(found?.keySuffix).toBe(form.keySuffix);
      expect(found?.quota.limit).toBe(
        form.wider.length === 0 && form !== limit ? found?.quota.limit : form.quota.limit,
      );
    }
  }
});

test('another number keeps the name; another plan, unit or window has another one', () => {
  const [limit] = settlingPolicy().limits as [Limit];
  const name = nameOf(limit);
  const firstOf = (policy: ReturnType<typeof settlingPolicy>) =>
    nameOf(everyLimit(policy)[0] as Limit);
  expect(firstOf(settlingPolicy({ limits: [limitOf({ limit: 5 })] }))).toEqual(name);
  const others = [
    settlingPolicy({ name: 'other' }),
    settlingPolicy({ limits: [], plans: { pro: [HOUR] } }),
    settlingPolicy({ limits: [limitOf({ window: '2h', windowMs: 7_200_000 })] }),
    settlingPolicy({ limits: [limitOf({ afterwards: REFUND })] }),
    settlingPolicy({ limits: [limitOf({ per: 'user' })] }),
  ].map(firstOf);
  for (const other of others) expect(other?.slice(0, 8)).not.toBe(name?.slice(0, 8));
});

test('a limit that is gone, or charges nothing afterwards any more, has no name', () => {
  const [limit] = settlingPolicy().limits as [Limit];
  const name = nameOf(limit) as string;
  expect(limitIndex([LOGIN]).get(name)).toBeUndefined();
  const plain = settlingPolicy({ limits: [limitOf({ afterwards: undefined })] });
  expect(limitIndex([plain]).get(name)).toBeUndefined();
  expect(limitNames(plain).size).toBe(0);
});
