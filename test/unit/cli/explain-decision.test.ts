/** The words for a denial. */
import { expect, test } from 'vitest';
import { denialText } from '../../../src/cli/support/explain-decision.ts';
import type { DenialDetails } from '../../../src/operations/schemas/denials.ts';
import type { OverrideReport } from '../../../src/operations/schemas/overrides.ts';

const DENIAL: DenialDetails = {
  ...{ asked_for: 'abc-1', decision_id: 'abc-1', policy: 'login', policy_mode: 'enforce' },
  ...{ reason: 'over_limit', mode: 'enforced', client: 'i.a', identity: 'ip' },
  ...{ limit: 'login', allows: '5 requests per 5 minutes', counted: 'i.a', key: 'hg:v1:{i.a}' },
  ...{ denials: 1, since: '2026-11-22T00:57:57.123Z', last: '2026-11-22T00:57:57.123Z' },
  until: '2026-11-22T01:02:57.123Z',
  now: {
    ...{ allows: '5 requests per 5 minutes', remaining: 0 },
    ...{ retry_after_ms: 298_001, reset_after_ms: 299_000 },
  },
};

test('a denial is told with its client, its limit, its time and the quota now', () => {
  expect(denialText(DENIAL)).toEqual([
    'decision  abc-1',
    'client    i.a, identified by ip',
    'policy    login: over_limit, enforced',
    'limit     login: 5 requests per 5 minutes; counted as hg:v1:{i.a}',
    'denied    1 time, at 2026-11-22 00:57:57 UTC; blocked until 2026-11-22 01:02:57 UTC',
    'now       remaining: 0; next request allowed in 299 s',
  ]);
});

test('several denials have a beginning, and an id of the last one', () => {
  const denial = { ...DENIAL, denials: 4, decision_id: 'abc-4', last: '2026-11-22T01:00:00.000Z' };
  expect(denialText(denial)).toContain(
    'denied    4 times since 2026-11-22 00:57:57 UTC, last at 2026-11-22 01:00:00 UTC as abc-4; blocked until 2026-11-22 01:02:57 UTC',
  );
});

test('a client that sent an unlisted key is told with it, and with the partition that was counted', () => {
  expect(denialText({ ...DENIAL, came_as: 'k.b', counted: 'i.c' })[1]).toBe(
    'client    i.a, identified by ip, last sent the key k.b, counted as i.c',
  );
});

test('a policy or a limit that has changed is told as it is now', () => {
  const now = { allows: '9 requests per hour', remaining: 3, retry_after_ms: 0, reset_after_ms: 0 };
  expect(denialText({ ...DENIAL, policy_mode: 'shadow', now })).toContain(
    'now       policy mode: shadow; limit: 9 requests per hour; remaining: 3',
  );
});

test('a block is told with its override, or with what else may have blocked the client', () => {
  const { limit: _, allows: _a, until: _u, now: _n, ...blocked } = DENIAL;
  const terms = { since: '2026-11-22T00:00:00.000Z', until: '2026-11-22T02:00:00.000Z', by: 'ada' };
  const override: OverrideReport = {
    ...{ about: 'client', client: 'i.a', access: 'blocked', reason: 'a "test"' },
    ...terms,
  };
  expect(denialText({ ...blocked, reason: 'blocked' }).slice(2)).toEqual([
    'policy    login: blocked, enforced',
    'denied    1 time, at 2026-11-22 00:57:57 UTC',
    'cause     the policy file blocks the client, or an override that has ended did',
  ]);
  expect(denialText({ ...blocked, reason: 'blocked', override }).at(-1)).toBe(
    'override  i.a: blocked until 2026-11-22 02:00:00 UTC, "a \\"test\\""',
  );
});
