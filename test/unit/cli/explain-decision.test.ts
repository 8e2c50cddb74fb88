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

test('a denial is shown with its client, its limit, its time and the current quota', () => {
  expect(denialText(DENIAL)).toEqual([
    'decision  abc-1',
    'client    i.a, identified by ip',
    'policy    login: over_limit, enforced',
    'limit     login: 5 requests per 5 minutes; counted as hg:v1:{i.a}',
    'denied    1 time, at 2026-11-22 00:57:57 UTC; blocked until 2026-11-22 01:02:57 UTC',
    'now       remaining: 0; next request allowed in 299 s',
  ]);
});

test('several denials are shown with the time of the first and the id of the last', () => {
  const denial = { ...DENIAL, denials: 4, decision_id: 'abc-4', last: '2026-11-22T01:00:00.000Z' };
  expect(denialText(denial)).toContain(
    'denied    4 times since 2026-11-22 00:57:57 UTC, last at 2026-11-22 01:00:00 UTC as abc-4; blocked until 2026-11-22 01:02:57 UTC',
  );
});

test('a client with an unlisted key is shown with that key and the partition that was counted', () => {
  expect(denialText({ ...DENIAL, came_as: 'k.b', counted: 'i.c' })[1]).toBe(
    'client    i.a, identified by ip, last sent the key k.b, counted as i.c',
  );
});

test('a policy or a limit that has changed is shown as it is now', () => {
  const now = { allows: '9 requests per hour', remaining: 3, retry_after_ms: 0, reset_after_ms: 0 };
  expect(denialText({ ...DENIAL, policy_mode: 'shadow', now })).toContain(
    'now       policy mode: shadow; limit: 9 requests per hour; remaining: 3',
  );
});

test('a block is shown with its override, or with other possible causes', () => {
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
