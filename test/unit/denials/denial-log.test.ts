import { expect, test } from 'vitest';
import { BLOCKED, type Denial } from '../../../src/core/decision.ts';
import type { DenialLine } from '../../../src/denials/denial-log.ts';
import { Denials } from '../../../src/denials/denials.ts';
import { deniedClient } from '../../support/denials.ts';
import { NOON_MS } from '../../support/requests.ts';

function setUp() {
  const clock = { nowMs: NOON_MS };
  const lines: DenialLine[] = [];
  const log = new Denials({ now: () => clock.nowMs, write: (line) => lines.push(line) });
  let ids = 0;
  const deny = (client: string) => {
    const denial: Denial = { id: String(ids++), ...deniedClient(client) };
    log.add({ decision: BLOCKED, denial, answered: { dialect: 'nginx', durationMs: 0.5 } });
  };
  const told = () => lines.map((line) => [line.client, line.decision_id, line.suppressed]);
  return { clock, lines, log, deny, told };
}

test('a denial is told at once: who, by what, and why', () => {
  const { deny, lines } = setUp();
  deny('i.a');
  expect(lines).toEqual([
    {
      decision_id: '0',
      policy: 'none',
      limit: undefined,
      reason: 'blocked',
      mode: 'enforced',
      identity: 'ip',
      client: 'i.a',
      came_as: undefined,
      counted: undefined,
      retry_after_ms: undefined,
      dialect: 'nginx',
      duration_ms: 0.5,
      suppressed: 0,
    },
  ]);
});

test('of one client there is a line a second, with the number of those left out', () => {
  const { clock, deny, told } = setUp();
  for (let i = 0; i < 50; i++) {
    deny('i.a');
    clock.nowMs += 100;
  }
  expect(told()).toEqual([
    ['i.a', '0', 0],
    ['i.a', '10', 9],
    ['i.a', '20', 9],
    ['i.a', '30', 9],
    ['i.a', '40', 9],
  ]);
});

test('clients do not hide each other', () => {
  const { deny, told } = setUp();
  for (const client of ['i.a', 'i.b', 'i.a']) deny(client);
  expect(told()).toEqual([
    ['i.a', '0', 0],
    ['i.b', '1', 0],
  ]);
});

test('what was left out is told of a second later, though the client is gone, and only once', () => {
  const { clock, deny, log, told } = setUp();
  for (let i = 0; i < 3; i++) deny('i.a');
  log.flush();
  expect(told()).toEqual([['i.a', '0', 0]]);
  clock.nowMs += 1_000;
  log.flush();
  log.flush();
  log.close();
  expect(told()).toEqual([
    ['i.a', '0', 0],
    ['i.a', '2', 1],
  ]);
});

test('and at the end', () => {
  const { deny, log, told } = setUp();
  for (let i = 0; i < 3; i++) deny('i.a');
  log.close();
  expect(told().at(-1)).toEqual(['i.a', '2', 1]);
});

test('of more clients than can be remembered, those that are forgotten are told of', () => {
  const { deny, lines } = setUp();
  for (let i = 0; i < 20_000; i++) {
    deny(`i.${i}`);
    deny(`i.${i}`);
  }
  expect(lines).toHaveLength(30_000);
});
