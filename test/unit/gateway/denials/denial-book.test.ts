import { expect, test } from 'vitest';
import { BLOCKED, type Denial } from '../../../../src/gateway/core/counting/decision.ts';
import { createDenialBook, type DenialLine } from '../../../../src/gateway/denials/denials.ts';
import { deniedClient } from '../../../support/denials.ts';
import { NOON_MS } from '../../../support/requests.ts';

function setUp() {
  const clock = { nowMs: NOON_MS };
  const lines: DenialLine[] = [];
  const log = createDenialBook({
    now: () => clock.nowMs,
    idOf: () => undefined,
    write: (line) => lines.push(line),
  });
  let ids = 0;
  const deny = (client: string) => {
    const denial: Denial = { id: String(ids++), ...deniedClient(client) };
    log.add({ decision: BLOCKED, denial, answered: { dialect: 'nginx', durationMs: 0.5 } });
  };
  const logged = () => lines.map((line) => [line.client, line.decision_id, line.suppressed]);
  return { clock, lines, log, deny, logged };
}

test('a denial is logged at once: the client, the policy, and the reason', () => {
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

test('a client has at most one line a second, with the number of denials in between', () => {
  const { clock, deny, logged } = setUp();
  for (let i = 0; i < 50; i++) {
    deny('i.a');
    clock.nowMs += 100;
  }
  expect(logged()).toEqual([
    ['i.a', '0', 0],
    ['i.a', '10', 9],
    ['i.a', '20', 9],
    ['i.a', '30', 9],
    ['i.a', '40', 9],
  ]);
});

test('each client has its own lines', () => {
  const { deny, logged } = setUp();
  for (const client of ['i.a', 'i.b', 'i.a']) deny(client);
  expect(logged()).toEqual([
    ['i.a', '0', 0],
    ['i.b', '1', 0],
  ]);
});

test('denials without a line are logged a second later, once, even if the client has gone', () => {
  const { clock, deny, log, logged } = setUp();
  for (let i = 0; i < 3; i++) deny('i.a');
  log.flush();
  expect(logged()).toEqual([['i.a', '0', 0]]);
  clock.nowMs += 1_000;
  log.flush();
  log.flush();
  log.close();
  expect(logged()).toEqual([
    ['i.a', '0', 0],
    ['i.a', '2', 1],
  ]);
});

test('denials without a line are logged at the end', () => {
  const { deny, log, logged } = setUp();
  for (let i = 0; i < 3; i++) deny('i.a');
  log.close();
  expect(logged().at(-1)).toEqual(['i.a', '2', 1]);
});

test('denials of a client that is forgotten are logged before that', () => {
  const { deny, lines } = setUp();
  for (let i = 0; i < 20_000; i++) {
    deny(`i.${i}`);
    deny(`i.${i}`);
  }
  expect(lines).toHaveLength(30_000);
});

test('a line says what blocked the client', () => {
  const { log, lines } = setUp();
  const entry = { address: '10.0.0.0/8', key: undefined, expiresMs: 1, place: 'p.yaml:3' };
  const ofKey = { address: undefined, key: 'acme', expiresMs: 1, isInStore: true };
  const accesses = [
    { access: 'blocked', isOverride: false, entry },
    { access: 'blocked', isOverride: true },
    { access: 'blocked', isOverride: false, entry: ofKey },
    { access: 'exempt', isOverride: false, entry },
  ] as const;
  for (const [i, accessBy] of accesses.entries()) {
    const denial = { id: String(i), ...deniedClient(`i.${i}`), accessBy };
    log.add({ decision: BLOCKED, denial, answered: undefined });
  }
  expect(lines.map((line) => [line.blocked_by, line.listed_at])).toEqual([
    ['policy_file', 'p.yaml:3'],
    ['override', undefined],
    ['key', undefined],
    [undefined, undefined],
  ]);
});
