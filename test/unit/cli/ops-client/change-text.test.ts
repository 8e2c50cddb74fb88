/** The words for overrides in the commands. */
import { expect, test } from 'vitest';
import { toned } from '../../../../src/cli/ops-client/cells.ts';
import { exemptedText, overrideText } from '../../../../src/cli/ops-client/change-text.ts';

const NOW_MS = Date.parse('2026-11-22T00:18:00.000Z');
const TERMS = { since: '2026-11-22T00:00:00.000Z', until: '2026-11-22T01:00:00.000Z', by: 'ada' };
const UNTIL = 'until 2026-11-22 01:00:00 UTC, in 42 min, "a \\"test\\""';

test('an override is shown with its subject, its effect, its end and its reason', () => {
  const terms = { ...TERMS, reason: 'a "test"' };
  const acme = { about: 'client', client: 'c.a', client_id: 'acme', access: 'exempt' } as const;
  const texts = [
    overrideText({ about: 'client', client: 'i.a', access: 'blocked', ...terms }, NOW_MS),
    overrideText({ ...acme, ...terms }, NOW_MS),
    overrideText({ ...acme, plan: 'pro', ...terms }, NOW_MS),
    overrideText({ about: 'policy', policy: 'login', mode: 'shadow', ...terms }, NOW_MS),
    overrideText({ about: 'log_level', level: 'debug', ...terms }, NOW_MS),
    overrideText({ about: 'log_allows', allows_one_in: 7, ...terms }, NOW_MS),
  ];
  expect(texts).toEqual([
    `i.a: blocked ${UNTIL}`,
    `id:acme: exempt ${UNTIL}`,
    `id:acme (plan pro): exempt ${UNTIL}`,
    `login: shadow ${UNTIL}`,
    `log: level debug ${UNTIL}`,
    `log: 1 in 7 allowed requests ${UNTIL}`,
  ]);
});

test.each([
  ['c.a', 'every request with this key is exempt'],
  ['k.a', 'every request with this key is exempt'],
  ['u.a', 'every request of this user is exempt'],
  ['i.a', 'every request from this address is exempt, with any key'],
])('an exemption of %s says: %s', (client, text) => {
  expect(exemptedText(client)).toBe(text);
});

test.each([
  ['blocked', { text: 'blocked', tone: 'bad' }],
  ['exempt', { text: 'exempt', tone: 'good' }],
  ['shadow', { text: 'shadow', tone: 'warning' }],
  ['level debug', 'level debug'],
  ['constructor', 'constructor'],
])('%s has its tone, or none', (text, shown) => {
  expect(toned(text)).toEqual(shown);
});
