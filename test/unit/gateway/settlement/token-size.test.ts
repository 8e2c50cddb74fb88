import { expect, test } from 'vitest';
import {
  type CountedClient,
  describe,
  partitionOf,
} from '../../../../src/gateway/core/counting/descriptor.ts';
import type { Policy } from '../../../../src/gateway/core/policy.ts';
import { limitNames } from '../../../../src/gateway/settlement/limit-names.ts';
import { listedKeys } from '../../../../src/gateway/settlement/signing-keys.ts';
import { openToken, sealToken, type TokenPart } from '../../../../src/gateway/settlement/token.ts';
import { LONGEST_TOKEN, largestToken } from '../../../../src/gateway/settlement/token-size.ts';
import { NOON_MS, SALTS } from '../../../support/requests.ts';
import { ALICE, limitOf, partition, settlingPolicy } from '../../../support/settling.ts';

const KEYS = listedKeys(['a key of this test, at least 32 characters']);
const HOUR = limitOf();
const MONTH = limitOf({
  algorithm: 'fixed-window',
  window: 'month',
  windowMs: 31 * 86_400_000,
  limit: 2_000_000,
});
const windows = (count: number, parts: Parameters<typeof limitOf>[0] = {}) =>
  Array.from({ length: count }, (_, i) =>
    limitOf({ ...parts, window: `${i + 1}h`, windowMs: (i + 1) * 3_600_000 }),
  );

/** The forms of a limit reserve different numbers if a request asks for more than all of them hold. */
const ASKS = {
  unit: 'tokens',
  reserve: { header: 'x-reserve' },
  unknown: 8_000,
  refund: undefined,
} as const;

/** Its key is not listed, it has no user, and all of its names change just now. */
const NEWCOMER = (() => {
  const names = (text: string) => ({
    daily: { current: partition('i', text), previous: partition('i', `${text}-before`) },
    long: { current: partition('i', `${text}-long`), previous: partition('i', `${text}-longer`) },
  });
  const wider = ['56', '48'].map((text) => ({ ...names(text), wider: [] }));
  return {
    ...({ kind: 'api_key', user: undefined, plan: undefined, untrustedProxy: false } as const),
    address: { ...names('address'), wider },
    apiKey: { partition: ALICE, unverified: true },
    headers: new Map([['header:x-tenant', { partition: partition('h', 'a'), unverified: true }]]),
  } satisfies CountedClient;
})();

/** What it reserves if each policy is taken at another moment, as those in shadow mode are. */
function partsOf(policies: readonly Policy[], plan?: string): TokenPart[] {
  const startMs = SALTS.daily.startMs;
  const context = {
    salts: { ...SALTS, long: { ...SALTS.long, startMs } },
    nowMs: startMs,
    headers: { 'x-reserve': `${2 ** 50}` },
  };
  return policies.flatMap((policy, i) =>
    describe([policy], { ...NEWCOMER, plan }, context).map(({ source, key, cost }) => ({
      name: limitNames(policy).get(source) as string,
      ...{ partition: partitionOf(key), units: cost, momentMs: NOON_MS + 3_600_000 * i },
    })),
  );
}

test.each<[string, Policy[], plan?: string]>([
  ['one limit', [settlingPolicy()]],
  ['as many limits as fit', [settlingPolicy({ limits: windows(10) })]],
  ['limits of a day and of a month', [settlingPolicy({ limits: [HOUR, MONTH] })]],
  [
    'a request that says what it reserves',
    [settlingPolicy({ limits: windows(2, { afterwards: ASKS }) })],
  ],
  ['a plan', [settlingPolicy({ plans: { pro: windows(5) } })], 'pro'],
  [
    'several kinds of clients',
    [
      settlingPolicy({
        limits: (['client', 'api_key', 'ip', 'user', 'global', 'header:x-tenant'] as const).map(
          (per) => limitOf({ per }),
        ),
      }),
    ],
  ],
  [
    'another policy that always applies',
    [settlingPolicy({ limits: windows(3) }), settlingPolicy({ name: 'all', limits: windows(2) })],
  ],
])(
  'the largest token is that of a newcomer at midnight, and has all parts: %s',
  (_, policies, plan) => {
    const parts = partsOf(policies, plan);
    const body = { gateway: 'abcdefgh', serial: 1, mode: 'enforced' } as const;
    const token = sealToken({ endsMs: NOON_MS, ...body, parts }, KEYS);
    expect(openToken(token, KEYS)).toMatchObject({ parts });
    expect(token).toHaveLength(largestToken(policies));
  },
);

test('the example with an hour and a month of tokens fits, and so do sixteen limits of users or of all', () => {
  const fitting = [
    settlingPolicy({ limits: [HOUR, MONTH] }),
    settlingPolicy({ limits: windows(16, { per: 'global' }) }),
    settlingPolicy({ limits: windows(10), prefixes: [] }),
  ];
  for (const policy of fitting) expect(largestToken([policy])).toBeLessThanOrEqual(LONGEST_TOKEN);
});

test('the token may be too long, also because of a plan, or of another policy', () => {
  expect(largestToken([settlingPolicy({ limits: windows(16) })])).toBeGreaterThan(LONGEST_TOKEN);
  const inPlan = settlingPolicy({ limits: [HOUR], plans: { pro: windows(16) } });
  expect(largestToken([inPlan])).toBeGreaterThan(LONGEST_TOKEN);
  const always = settlingPolicy({ name: 'everything', limits: windows(6) });
  const policy = settlingPolicy({ limits: windows(6) });
  expect(largestToken([policy])).toBeLessThanOrEqual(LONGEST_TOKEN);
  expect(largestToken([policy, always])).toBeGreaterThan(LONGEST_TOKEN);
});
