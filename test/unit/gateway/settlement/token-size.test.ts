import { expect, test } from 'vitest';
import type { Limit, Policy } from '../../../../src/gateway/core/policy.ts';
import { limitNames } from '../../../../src/gateway/settlement/limit-names.ts';
import { listedKeys } from '../../../../src/gateway/settlement/signing-keys.ts';
import {
  LONGEST_TOKEN,
  sealToken,
  type TokenPart,
} from '../../../../src/gateway/settlement/token.ts';
import { largestToken } from '../../../../src/gateway/settlement/token-size.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { limitOf, partition, settlingPolicy } from '../../../support/settling.ts';

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

/** The token of a client with an unverified key, around midnight. */
function tokenAtMidnight({ limits: [limit], ...policy }: Policy): string {
  const { unverified, keySuffix } = limit as Limit;
  const names = limitNames({ ...policy, limits: [limit as Limit] });
  expect(keySuffix).not.toBe('');
  const part = (form: Limit, name: string): TokenPart => ({
    ...{
      name: names.get(form) as string,
      partition: name,
      units: (limit as Limit).quota.burst,
      momentMs: NOON_MS,
    },
  });
  const forms = [unverified as Limit, ...(unverified as Limit).wider];
  const parts = [
    part(limit as Limit, partition('k', 'alice')),
    ...forms.flatMap((form, i) => [
      part(form, partition('i', `before${i}`)),
      part(form, partition('i', `after${i}`)),
    ]),
  ];
  return sealToken(
    { endsMs: NOON_MS, gateway: 'abcdefgh', serial: 1, mode: 'enforced', parts },
    KEYS,
  );
}

test('the largest token has both names of a client around midnight, its networks and its key', () => {
  const policy = settlingPolicy();
  const real = tokenAtMidnight(policy).length;
  expect(largestToken([policy])).toBeGreaterThanOrEqual(real);
  expect(largestToken([policy])).toBeLessThan(real + 24);
});

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
