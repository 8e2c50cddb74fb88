/** The words for a denial. */

import { expect, test } from 'vitest';
import { denialText } from '../../../../src/cli/ops-client/denial-text.ts';
import type { Output } from '../../../../src/gateway/operations/operation-table.ts';
import type { OverrideReport } from '../../../../src/gateway/operations/schemas/overrides.ts';

const NOW_MS = Date.parse('2026-11-22T00:58:00.000Z');

const NOW = {
  ...{ allows: '5 requests per 5 minutes', remaining: 0 },
  ...{ retry_after_ms: 298_001, reset_after_ms: 299_000 },
};
const DENIAL: Output<'decision'> = {
  ...{ asked_for: 'abc-1', decision_id: 'abc-1', policy: 'login', policy_mode: 'enforce' },
  ...{ reason: 'over_limit', mode: 'enforced', client: 'i.a', identity: 'ip' },
  ...{ limit: 'login', allows: '5 requests per 5 minutes', counted: 'i.a', key: 'hg:v1:{i.a}' },
  ...{ denials: 1, since: '2026-11-22T00:57:57.123Z', last: '2026-11-22T00:57:57.123Z' },
  until: '2026-11-22T01:02:57.123Z',
  now: NOW,
};

test('a denial is shown with its client, its limit, its time and the current quota', () => {
  expect(denialText(DENIAL, NOW_MS)).toEqual([
    'decision  abc-1',
    'client    i.a, identified by ip',
    'policy    login: over_limit, enforced',
    'limit     login: 5 requests per 5 minutes; counted as hg:v1:{i.a}',
    'denied    1 time, at 2026-11-22 00:57:57 UTC; denied until 2026-11-22 01:02:57 UTC',
    'now       remaining: 0; next request allowed in 299 s',
  ]);
});

test('several denials are shown with the time of the first and the id of the last', () => {
  const denial = { ...DENIAL, denials: 4, decision_id: 'abc-4', last: '2026-11-22T01:00:00.000Z' };
  expect(denialText(denial, NOW_MS)).toContain(
    'denied    4 times since 2026-11-22 00:57:57 UTC, last at 2026-11-22 01:00:00 UTC as abc-4; denied until 2026-11-22 01:02:57 UTC',
  );
});

test('a client with an unlisted key is shown with that key and the partition that was counted', () => {
  expect(denialText({ ...DENIAL, came_as: 'k.b', counted: 'i.c' }, NOW_MS)[1]).toBe(
    'client    i.a, identified by ip, sent the unlisted key k.b, counted as i.c',
  );
});

test('a policy or a limit that has changed is shown as it is now', () => {
  const now = { allows: '9 requests per hour', remaining: 3, retry_after_ms: 0, reset_after_ms: 0 };
  expect(denialText({ ...DENIAL, policy_mode: 'shadow', now }, NOW_MS)).toContain(
    'now       policy mode: shadow; limit: 9 requests per hour; remaining: 3',
  );
});

test('a client that is allowed again is not shown as blocked', () => {
  const now = { ...NOW, remaining: 5, retry_after_ms: 0, reset_after_ms: 0 };
  expect(denialText({ ...DENIAL, now }, NOW_MS).slice(-2)).toEqual([
    'denied    1 time, at 2026-11-22 00:57:57 UTC',
    'now       remaining: 5',
  ]);
});

test('a block is shown with its cause, and with its override', () => {
  const { limit: _, allows: _a, until: _u, now: _n, ...blocked } = DENIAL;
  const terms = { since: '2026-11-22T00:00:00.000Z', until: '2026-11-22T02:00:00.000Z', by: 'ada' };
  const override: OverrideReport = {
    ...{ about: 'client', client: 'i.a', access: 'blocked', reason: 'a "test"' },
    ...terms,
  };
  const cause = 'policies.yaml:12 blocks 203.0.113.0/24, "spam"';
  expect(denialText({ ...blocked, reason: 'blocked', cause }, NOW_MS).slice(2)).toEqual([
    'policy    login: blocked, enforced',
    'cause     policies.yaml:12 blocks 203.0.113.0/24, "spam"',
    'denied    1 time, at 2026-11-22 00:57:57 UTC',
  ]);
  expect(denialText({ ...blocked, reason: 'blocked', override }, NOW_MS).at(-1)).toBe(
    'override  i.a: blocked until 2026-11-22 02:00:00 UTC, in 62 min, by ada, "a \\"test\\""',
  );
});

test('a block or an exemption that has ended is shown with its end', () => {
  const terms = { since: DENIAL.since, until: '2026-11-22T02:00:00.000Z', reason: 'a test' };
  const shown = (access: 'blocked' | 'exempt', ended_by?: string) => {
    const override = { ...terms, about: 'client', client: 'i.a', access, by: 'ada' } as const;
    const ended_at = '2026-11-22T00:57:58.000Z';
    const ended_override = { override, ended_at, ...(ended_by !== undefined && { ended_by }) };
    return denialText({ ...DENIAL, reason: 'blocked', ended_override }, NOW_MS).slice(-1);
  };
  const at = 'at 2026-11-22 00:57:58 UTC, 2 s ago';
  expect(shown('blocked', 'bob')).toEqual([
    `override  i.a: blocked by ada, "a test"; unblocked ${at}, by bob`,
  ]);
  expect(shown('exempt', 'bob')).toEqual([
    `override  i.a: exempt by ada, "a test"; no longer exempt ${at}, by bob`,
  ]);
  expect(shown('blocked')).toEqual([`override  i.a: blocked by ada, "a test"; expired ${at}`]);
});

test('a listed key is shown by its id and plan', () => {
  const listed = { ...DENIAL, client: 'c.x', client_id: 'acme', identity: 'api_key' };
  expect(denialText({ ...listed, plan: 'pro' }, NOW_MS)[1]).toMatch(
    /^client {4}id:acme \(plan pro\), c\.x, identified by api_key/,
  );
  expect(denialText(listed, NOW_MS)[1]).toMatch(/^client {4}id:acme, c\.x, identified/);
});

test('later denials of the client are shown apart', () => {
  const later = { decision_id: 'abc-9', denials: 8, last: '2026-11-22T01:00:00.000Z' };
  expect(denialText({ ...DENIAL, later }, NOW_MS).at(-1)).toBe(
    'later     8 more denials of this client by this policy, the last at 2026-11-22 01:00:00 UTC as abc-9; their cause may differ',
  );
});

test('an unlisted key is called so', () => {
  expect(denialText({ ...DENIAL, client: 'k.b', counted: 'k.b' }, NOW_MS)[1]).toBe(
    'client    k.b, identified by ip, an unlisted API key (unknown, ended or revoked)',
  );
});
