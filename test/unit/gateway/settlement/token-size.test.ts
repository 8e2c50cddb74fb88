import { expect, test } from 'vitest';
import type { Limit, Policy } from '../../../../src/gateway/core/policy.ts';
import { limitNames } from '../../../../src/gateway/settlement/limit-names.ts';
import { listedKeys } from '../../../../src/gateway/settlement/signing-keys.ts';
import {
  LONGEST_TOKEN,
  sealToken,
  type TokenPart,
} from '../../../../src/gateway/settlement/token.ts';
import { largestToken, tokenMistakes } from '../../../../src/gateway/settlement/token-size.ts';
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
    ...(names.get(form) as NonNullable<ReturnType<typeof names.get>>),
    ...{ partition: name, units: (limit as Limit).quota.burst, momentMs: NOON_MS },
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
    { endsMs: NOON_MS, gateway: 'abcdef', serial: 1, mode: 'enforced', parts },
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
  expect(tokenMistakes([settlingPolicy({ limits: [HOUR, MONTH] })], [])).toEqual([]);
  expect(tokenMistakes([settlingPolicy({ limits: windows(16, { per: 'global' }) })], [])).toEqual(
    [],
  );
  const narrow = settlingPolicy({ limits: windows(10), prefixes: [] });
  expect(tokenMistakes([narrow], [])).toEqual([]);
});

test('a policy whose token would be too long is refused, also if a plan needs it', () => {
  const [mistake] = tokenMistakes([settlingPolicy({ limits: windows(16) })], []);
  expect(mistake?.policy).toBe('completions');
  expect(mistake?.message).toMatch(
    /^limits with reserve or refund need a settle token of \d{3} characters, the maximum is 600: /,
  );
  const inPlan = settlingPolicy({ limits: [HOUR], plans: { pro: windows(16) } });
  expect(largestToken([inPlan])).toBeGreaterThan(LONGEST_TOKEN);
});

test('policies that always apply need room in the same token', () => {
  const always = settlingPolicy({ name: 'everything', limits: windows(6) });
  const policy = settlingPolicy({ limits: windows(6) });
  expect(tokenMistakes([policy], [])).toEqual([]);
  const mistakes = tokenMistakes([policy, always], [always]);
  expect(mistakes.map((each) => each.policy)).toEqual(['completions']);
  expect(mistakes[0]?.message).toContain('together with those of policies with always: true');
});

test('policies that settle nothing, and limits that clash', () => {
  const plain = settlingPolicy({ limits: [limitOf({ afterwards: undefined })] });
  expect(tokenMistakes([plain], [])).toEqual([]);
  expect(tokenMistakes([settlingPolicy(), settlingPolicy()], [])).toMatchObject([
    { policy: 'completions', message: expect.stringContaining('short name') },
  ]);
});
