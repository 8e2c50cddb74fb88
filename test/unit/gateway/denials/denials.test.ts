/** Denials as the gateway reports them: those that clients got, and those that shadow policies would have given. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BLOCKED, type Decision, EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import { reportOf } from '../../../../src/gateway/denials/denial-report.ts';
import {
  createDenials,
  type DenialLine,
  type ShadowDenialLine,
} from '../../../../src/gateway/denials/denials.ts';
import { deniedClient } from '../../../support/denials.ts';
import { NOON_MS } from '../../../support/requests.ts';

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

const KEY = 'hg:v1:{i.bot}:login:client.1';

/** The denial of a key that the address behind it has reached a limit for. */
function setUp() {
  const lines: DenialLine[] = [];
  const shadowLines: ShadowDenialLine[] = [];
  const denials = createDenials({
    now: Date.now,
    idOf: (client) => ({ 'c.acme': 'acme' })[client],
    writeDenied: (line) => lines.push(line),
    writeWouldBeDenied: (line) => shadowLines.push(line),
  });
  const decide = (isShadow = false): Decision => {
    const denied = deniedClient('k.made-up', 'i.bot');
    const binding = {
      key: KEY,
      limit: { label: 'login:ip' },
      nowMs: NOON_MS,
      state: { retryAfterMs: 200, resetAfterMs: 9_000 },
    };
    const decision = {
      ...BLOCKED,
      reason: 'over_limit',
      policy: 'login',
      binding,
    } as Decision;
    const id = denials.name(decision, denied, isShadow);
    return { ...decision, denial: { id, ...denied } };
  };
  return { decide, denials, lines, shadowLines };
}

test('a denial has a line with its client, its limit, and how it was answered', () => {
  const { decide, denials, lines, shadowLines } = setUp();
  const decision = decide();
  denials.decided(decision, 'caddy', 1.5);
  expect(lines).toEqual([
    {
      decision_id: decision.denial?.id,
      policy: 'login',
      limit: 'login:ip',
      reason: 'over_limit',
      mode: 'enforced',
      identity: 'api_key',
      client: 'i.bot',
      client_id: undefined,
      came_as: 'k.made-up',
      counted: undefined,
      retry_after_ms: 200,
      dialect: 'caddy',
      duration_ms: 1.5,
      suppressed: 0,
    },
  ]);
  expect(shadowLines).toEqual([]);
  expect(denials.enforced.clients.top(10, 1_000)).toHaveLength(1);
  expect(denials.shadow.clients.top(10, 1_000)).toEqual([]);
});

test('a report says when the next request is allowed', () => {
  const { decide, denials } = setUp();
  denials.decided(decide(), 'caddy', 1.5);
  const [client] = denials.enforced.clients.top(10, 1_000);
  expect(client && reportOf(client)).toMatchObject({
    client: 'i.bot',
    until: new Date(NOON_MS + 200).toISOString(),
  });
});

test('a denial by a shadow policy has a line without a mode, and is remembered apart', () => {
  const { decide, denials, lines, shadowLines } = setUp();
  const decision = decide(true);
  denials.wouldDeny(decision);
  expect(lines).toEqual([]);
  expect(shadowLines).toHaveLength(1);
  const [line] = shadowLines;
  expect(line).toMatchObject({ decision_id: decision.denial?.id, counted_in: 'store' });
  expect(line).toMatchObject({ dialect: undefined, duration_ms: undefined });
  expect(Object.keys(line ?? {})).not.toContain('mode');
  expect(denials.enforced.clients.top(10, 1_000)).toEqual([]);
  expect(denials.shadow.clients.top(10, 1_000)).toHaveLength(1);
});

test('a line names whose counter was full, if that is not the counter of the client', () => {
  const { decide, denials, lines } = setUp();
  const { binding, ...decision } = decide();
  denials.decided(
    { ...decision, binding: { ...binding, key: 'hg:v1:{g}:login:global.1' } } as Decision,
    'caddy',
    1,
  );
  expect(lines[0]).toMatchObject({ client: 'i.bot', came_as: 'k.made-up', counted: 'g' });
});

test('a line has the id of a listed key', () => {
  const { decide, denials, lines } = setUp();
  const { denial, ...decision } = decide();
  const listed = { id: 'x-1', ...deniedClient('c.acme', 'i.acme') };
  denials.decided({ ...decision, denial: { ...listed, isMadeUp: false } }, 'caddy', 1);
  expect(lines[0]).toMatchObject({ client: 'c.acme', client_id: 'acme' });
});

test('decisions that allow, and repeated ones, are no denials', () => {
  const { decide, denials, lines, shadowLines } = setUp();
  denials.decided(EXEMPT, 'caddy', 1);
  denials.wouldDeny(EXEMPT);
  denials.decided({ ...decide(), isRepeated: true }, 'caddy', 1);
  expect([...lines, ...shadowLines]).toEqual([]);
  expect(denials.enforced.clients.top(10, 1_000)).toEqual([]);
});

test('denials that were not logged have a line a second later', () => {
  const { decide, denials, lines, shadowLines } = setUp();
  for (let i = 0; i < 3; i++) {
    denials.decided(decide(), 'caddy', 1);
    denials.wouldDeny(decide(true));
  }
  vi.advanceTimersByTime(999);
  expect([lines.length, shadowLines.length]).toEqual([1, 1]);
  vi.advanceTimersByTime(1);
  expect(lines.map(({ suppressed }) => suppressed)).toEqual([0, 1]);
  expect(shadowLines.map(({ suppressed }) => suppressed)).toEqual([0, 1]);
  denials.close();
});

test('denials that were not logged have a line when the gateway closes', () => {
  const { decide, denials, lines, shadowLines } = setUp();
  for (let i = 0; i < 3; i++) {
    denials.decided(decide(), 'caddy', 1);
    denials.wouldDeny(decide(true));
  }
  denials.close();
  expect(lines.map(({ suppressed }) => suppressed)).toEqual([0, 1]);
  expect(shadowLines.map(({ suppressed }) => suppressed)).toEqual([0, 1]);
  expect(vi.getTimerCount()).toBe(0);
});
