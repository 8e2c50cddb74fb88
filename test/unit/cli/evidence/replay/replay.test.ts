import { describe, expect, test, vi } from 'vitest';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { createLogRequests } from '../../../../../src/cli/evidence/log-request.ts';
import { Decider } from '../../../../../src/cli/evidence/replay/decider.ts';
import { Replay, type ReplayOptions } from '../../../../../src/cli/evidence/replay/replay.ts';
import { addResults } from '../../../../../src/cli/evidence/replay/result.ts';
import { SameSecond } from '../../../../../src/cli/evidence/replay/same-second.ts';
import { createCheck, UNOBSERVED } from '../../../../../src/gateway/core/check.ts';
import { Calendar } from '../../../../../src/gateway/core/counting/calendar.ts';
import type { Decision } from '../../../../../src/gateway/core/counting/decision.ts';
import { NO_OVERRIDES } from '../../../../../src/gateway/core/overrides.ts';
import { MemoryStore } from '../../../../../src/gateway/stores/memory/memory-store.ts';
import { SaltBooks } from '../../../../../src/gateway/stores/salts/salt-sources.ts';
import { LOG_START_MS, logEntry, randomEntries } from '../../../../support/log-entries.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest } from '../../../../support/requests.ts';
import { isShort, rounds } from '../../../../support/short-form.ts';

const POLICIES = `
version: 1
identity: { sources: [ip], ip: { ipv6_prefixes: { 64: 1x, 48: 3x } } }
block: [198.51.1.7]
exempt: [198.51.1.9]
default: { limits: [30/1h, { rate: 100/1d, algorithm: token-bucket, burst: 20 }] }
policies:
  - { name: login, match: { path: /login, method: POST }, limits: [5/5min, 20/1d] }
  - { name: search, match: { path: /search }, limits: [{ rate: 10/1h, algorithm: sliding-window-counter }] }
  - { name: tried, match: { path: /x }, mode: shadow, limits: [2/1min] }
`;

const OPTIONS: ReplayOptions = {
  policies: policySetFrom(POLICIES),
  against: undefined,
  mapping: [],
  precisionMs: 1,
  measuresPeaks: false,
  thread: 0,
  threads: 1,
};

async function replayed(entries: readonly LogEntry[], options: Partial<ReplayOptions> = {}) {
  const replay = new Replay({ ...OPTIONS, ...options });
  for (const entry of entries) {
    const kept = replay.keep(entry);
    if (kept !== undefined) replay.add(kept);
  }
  return replay.finish();
}

function essence({ verdict, reason, policy, binding }: Decision) {
  return { verdict, reason, policy, state: binding?.state };
}

test('decides as a gateway does, over several midnights', () => {
  const policies = policySetFrom(POLICIES);
  let nowMs = 0;
  const store = new MemoryStore({ now: () => nowMs, maxKeys: 1_000_000 });
  const gateway = createCheck({
    store,
    local: store,
    salts: new SaltBooks(),
    overrides: { current: NO_OVERRIDES },
    newId: () => '',
    observer: UNOBSERVED,
  });
  const decider = new Decider({
    policies: OPTIONS.policies,
    salts: new SaltBooks(),
    isEvaluated: () => true,
    modes: new Map(),
  });
  const requestOf = createLogRequests(OPTIONS.policies, []);
  let differences = 0;
  const verdicts = new Set<string>();
  for (const entry of randomEntries(isShort ? 40_000 : 100_000, 2_500)) {
    nowMs = entry.startMs;
    const request = checkRequest({
      ...{ method: entry.method, target: entry.target, host: '', client: entry.address ?? '' },
    });
    const asked = essence(gateway(request, policies, nowMs) as Decision);
    const found = essence(decider.decide(requestOf(entry) ?? request, nowMs).decision);
    verdicts.add(`${found.policy} ${found.reason}`);
    if (JSON.stringify(found) !== JSON.stringify(asked)) differences++;
  }
  expect(differences).toBe(0);
  expect([...verdicts].sort()).toEqual([
    'default over_limit',
    'default within_limits',
    'login over_limit',
    'login within_limits',
    'none blocked',
    'none exempt',
    'none malformed_path',
    'search over_limit',
    'search within_limits',
    'tried not_enforced',
  ]);
});

test('gives the same result in any number of threads', async () => {
  const entries = randomEntries(isShort ? 8_000 : 20_000, 200);
  const against = policySetFrom(POLICIES.replaceAll('30/1h', '20/1h'));
  const options = { against, measuresPeaks: true };
  const alone = await replayed(entries, options);
  for (const threads of [2, 3]) {
    const parts = Array.from({ length: threads }, (_, thread) =>
      replayed(entries, { ...options, threads, thread }),
    );
    expect(addResults(await Promise.all(parts))).toEqual(alone);
  }
  expect(alone.clients.denied.count).toBeGreaterThan(50);
  expect(alone.newlyAllowed.get('default')?.requests).toBeGreaterThan(rounds(100));
});

test('measures peaks in the windows that a limit counts', async () => {
  const HOUR_MS = 3_600_000;
  const hourMs = Math.ceil(LOG_START_MS / HOUR_MS) * HOUR_MS;
  const dayMs = Math.ceil(LOG_START_MS / (24 * HOUR_MS)) * 24 * HOUR_MS;
  const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default:
  limits:
    - 100/1h
    - { rate: 100/1h, algorithm: fixed-window }
    - { rate: 100/day, zone: Europe/Zurich }`);
  const peaks = async (...startsMs: readonly number[]) => {
    const entries = startsMs.map((startMs) => logEntry({ startMs, target: '/' }));
    const result = await replayed(entries, { policies, measuresPeaks: true });
    return [...result.peaks.values()].map((counts) => Math.max(...counts.keys()));
  };
  // Two before a full hour, and three after it.
  const around = [-2, -1, 0, 1, 2];
  expect(await peaks(...around.map((each) => hourMs + each))).toEqual([5, 3, 5]);
  // The day of Zurich ends at 22 or 23 o'clock.
  const zurich = new Calendar('day', 'Europe/Zurich').windowAt(dayMs).endMs;
  expect(await peaks(...around.map((each) => zurich + each))).toEqual([5, 3, 3]);
});

test('measures peaks in units, however many a request takes', async () => {
  const policies = policySetFrom(
    '{ version: 1, identity: { sources: [ip] }, default: { cost: 1000000, limits: [{ rate: 5000000/1h, algorithm: fixed-window }] } }',
  );
  const entries = Array.from({ length: 2_000 }, (_, i) => logEntry({ startMs: LOG_START_MS + i }));
  const { peaks } = await replayed(entries, { policies, measuresPeaks: true });
  expect([...peaks]).toEqual([['default', new Map([[2_000_000_000, 1]])]]);
});

test('never reads the clock', async () => {
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => {
    throw new Error('a replay has the time of the log');
  });
  try {
    await replayed(randomEntries(1_000, 100));
  } finally {
    clock.mockRestore();
  }
});

test('finds no difference between a file and itself', async () => {
  const { newlyDenied, newlyAllowed, clients } = await replayed(
    randomEntries(rounds(20_000), 200),
    {
      against: policySetFrom(POLICIES),
    },
  );
  expect([newlyDenied.size, newlyAllowed.size]).toEqual([0, 0]);
  expect([clients.newlyDenied.count, clients.newlyAllowed.count]).toEqual([0, 0]);
});

test('names exactly the clients that a lower limit denies', async () => {
  const limited = (limit: number) =>
    policySetFrom(`{ version: 1, default: { limits: [${limit}/1min] } }`);
  const visits = (address: string, count: number) =>
    Array.from({ length: count }, (_, i) => logEntry({ address, startMs: LOG_START_MS + i }));
  const entries = [...visits('192.0.2.1', 3), ...visits('192.0.2.2', 4), ...visits('192.0.2.3', 6)];
  entries.sort((a, b) => a.startMs - b.startMs);
  const result = await replayed(entries, { policies: limited(3), against: limited(5) });
  expect(result.newlyDenied.get('default')).toEqual({ requests: 3, clients: 2 });
  expect(result.clients.newlyDenied.most.map((row) => [row.name, row.newlyDenied])).toEqual([
    ['192.0.2.3', 2],
    ['192.0.2.2', 1],
  ]);
  expect(result.policies.get('default')).toMatchObject({
    requests: 13,
    clients: 3,
    denied: 4,
    deniedClients: 2,
    firstDenialMs: LOG_START_MS + 3,
    lastDenialMs: LOG_START_MS + 5,
  });
});

test('counts what policies in shadow mode would deny', async () => {
  const entries = Array.from({ length: 5 }, (_, i) =>
    logEntry({ target: '/x', startMs: LOG_START_MS + i }),
  );
  const { policies, limits, clients } = await replayed(entries);
  expect(policies.get('tried')).toMatchObject({ requests: 5, denied: 3, deniedClients: 1 });
  expect(limits.get('tried')).toMatchObject({ requests: 5, denied: 3 });
  expect(clients.denied.count).toBe(0);
});

test('counts the first request of a client that a policy in shadow mode would deny', async () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { mode: shadow, limits: [{ rate: 1/1min, per: global }] }`);
  const entries = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address, i) =>
    logEntry({ address, startMs: LOG_START_MS + i }),
  );
  const result = await replayed(entries, { policies });
  expect(result.policies.get('default')).toMatchObject({ denied: 2, deniedClients: 2 });
});

test('tells how much depends on when in a second the requests came', async () => {
  const policies = policySetFrom('{ version: 1, default: { limits: [2/1s] } }');
  const entries = [0, 0, 1_000, 1_000].map((ms) => logEntry({ startMs: LOG_START_MS + ms }));
  const coarse = await replayed(entries, { policies, precisionMs: 1_000 });
  // At 0, 500, 1000 and 1500 ms no second has more than two; together at 0 and 1000 ms, neither.
  expect([coarse.isUncertain, coarse.clients.deniedRequests]).toEqual([true, 0]);
  const three = [0, 0, 0].map((ms) => logEntry({ startMs: LOG_START_MS + ms }));
  const [early, late] = [three, three.map((each) => ({ ...each, startMs: each.startMs + 1_000 }))];
  const dense = await replayed([...early, ...late], { policies, precisionMs: 1_000 });
  expect(dense.clients.deniedRequests).toBe(2);
  expect(dense.deniedAtOnce.get('default')).toBe(2);
  const exact = await replayed(entries, { policies, precisionMs: 1 });
  expect(exact.isUncertain).toBe(false);
});

test('evaluates no limit that needs what the log does not have', async () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [user, ip] }
default: { limits: [100/1min] }
policies:
  - { name: tenant, match: { path: /t }, limits: [{ rate: 1/1min, per: "header:x-tenant" }] }
  - { name: both, match: { path: /b }, limits: [{ rate: 1/1min, per: user }, { rate: 3/1min, per: ip }] }
`);
  const entries = ['/t', '/b'].flatMap((target) =>
    Array.from({ length: 5 }, (_, i) => logEntry({ target, startMs: LOG_START_MS + i })),
  );
  entries.sort((a, b) => a.startMs - b.startMs);
  const blind = await replayed(entries, { policies });
  expect(blind.policies.get('tenant')).toMatchObject({ requests: 5, denied: 0 });
  expect(blind.policies.get('both')).toMatchObject({ requests: 5, denied: 2 });
  expect(blind.limits.has('tenant')).toBe(false);
  const mapped = await replayed(
    entries.map((each) => ({ ...each, fields: ['acme'] })),
    { policies, mapping: [{ target: 'header:x-tenant', field: 'tenant' }] },
  );
  expect(mapped.policies.get('tenant')).toMatchObject({ requests: 5, denied: 4 });
});

test('reads each file by its own identity', async () => {
  const trusting = (range: string) =>
    policySetFrom(`
version: 1
identity: { sources: [ip], trusted_proxies: [${range}] }
default: { limits: [3/1min] }`);
  const entries = ['192.0.2.1', '192.0.2.2'].flatMap((address) =>
    [0, 1, 2].map((ms) => logEntry({ address, startMs: LOG_START_MS + ms })),
  );
  entries.sort((a, b) => a.startMs - b.startMs);
  const options = { policies: trusting('10.0.0.0/8'), against: trusting('loopback') };
  const { clients, newlyDenied, newlyAllowed } = await replayed(entries, options);
  expect([clients.all, newlyDenied.size, newlyAllowed.size]).toEqual([2, 0, 0]);
});

test('tells clients apart by an address header that is mapped', async () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [cf_connecting_ip, ip] }
default: { limits: [1/1min] }`);
  const entries = ['198.51.100.1', '198.51.100.2', '198.51.100.2'].map((client, i) =>
    logEntry({ address: '173.245.48.5', fields: [client], startMs: LOG_START_MS + i }),
  );
  const mapping = [{ target: 'header:cf-connecting-ip', field: 'cf' }];
  const { clients } = await replayed(entries, { policies, mapping });
  expect(clients.denied.most.map(({ name, requests }) => [name, requests])).toEqual([
    ['198.51.100.2', 2],
  ]);
  expect(clients.all).toBe(2);
});

describe('the difference of two files', () => {
  const file = (policy: string) =>
    policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies: [{ name: other, match: { path: /other }, limits: [1/1h] }, ${policy}]`);
  const policy = (name: string, limit: string, mode = 'enforce') =>
    `{ name: ${name}, match: { path: /login }, mode: ${mode}, limits: [${limit}] }`;
  const logins = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address, i) =>
    logEntry({ address, target: '/login', startMs: LOG_START_MS + i }),
  );
  const change = async (now: string, before: string) => {
    const files = { policies: file(now), against: file(before) };
    const { newlyDenied, newlyAllowed } = await replayed(logins, files);
    return { denied: [...newlyDenied], allowed: [...newlyAllowed] };
  };
  const two = { requests: 2, clients: 1 };

  test('names the policy that denies now, and the one that denied before', async () => {
    const [strict, lax] = [policy('strict', '1/1h'), policy('lax', '5/1h')];
    expect(await change(strict, lax)).toEqual({ denied: [['strict', two]], allowed: [] });
    expect(await change(lax, strict)).toEqual({ denied: [], allowed: [['strict', two]] });
  });

  test('shows what a policy in shadow mode would deny, and again once it is enforced', async () => {
    const [trial, enforced] = [policy('login', '1/1h', 'shadow'), policy('login', '1/1h')];
    expect(await change(trial, '')).toEqual({ denied: [['login', two]], allowed: [] });
    expect(await change(enforced, trial)).toEqual({ denied: [['login', two]], allowed: [] });
    expect(await change(trial, enforced)).toEqual({ denied: [], allowed: [['login', two]] });
    expect(await change('', trial)).toEqual({ denied: [], allowed: [['login', two]] });
    expect(await change(trial, trial)).toEqual({ denied: [], allowed: [] });
  });
});

describe('with stamps of whole seconds', () => {
  test('requests of one second are no burst', async () => {
    const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [{ rate: 2/1s, algorithm: token-bucket, burst: 1 }] }`);
    const entries = [0, 0, 1_000, 1_000].map((ms) => logEntry({ startMs: LOG_START_MS + ms }));
    const { clients, deniedAtOnce } = await replayed(entries, { policies, precisionMs: 1_000 });
    expect(clients.deniedRequests).toBe(0);
    expect(deniedAtOnce.get('default')).toBe(2);
  });

  test('time does not go back if durations have milliseconds', () => {
    const decided: number[][] = [];
    const spread = new SameSecond(1_000, (_entry, ...times) => decided.push(times));
    for (const startMs of [100, 100, 200, 900, 1_100, 1_950, 1_950, 2_000]) {
      spread.add(logEntry({ startMs }));
    }
    spread.flush();
    expect(decided).toEqual([
      ...[0, 250, 500, 750].map((atMs) => [atMs, 0]),
      ...[1_000, 1_333, 1_666].map((atMs) => [atMs, 1_000]),
      [2_000, 2_000],
    ]);
  });

  test('an address needs no name, with windows of any length', async () => {
    const entries = randomEntries(3_000, 4_000);
    const namesMade = async (limits: string, oldLimits?: string) => {
      const file = (each: string) =>
        policySetFrom(
          `{ version: 1, identity: { sources: [ip] }, default: { limits: [${each}] } }`,
        );
      const policies = file(limits);
      const against = oldLimits === undefined ? undefined : file(oldLimits);
      // Each name that is made is looked up in the lists, and no remembered one.
      const made = vi.spyOn(policies.naming.accessLists, 'ofAddress');
      await replayed(entries, { policies, against, precisionMs: 1_000 });
      return made.mock.calls.length;
    };
    expect(await namesMade('5/1min')).toBe(0);
    expect(await namesMade('5/1s')).toBe(0);
    expect(await namesMade('5/1s', '500/3d')).toBe(0);
    expect(await namesMade('5/1s, 500/3d', '5/1s')).toBe(0);
  });
});

test('MCP calls are told apart by the headers of the log', async () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: bare, match: { path: /mcp, mcp: { method: none } }, limits: [1/1h] }
  - { name: search, match: { path: /mcp, mcp: { method: tools/call, name: search_* } }, limits: [2/1h] }
`);
  const mapping = ['mcp-method', 'mcp-name', 'mcp-protocol-version'].map((name) => ({
    target: `header:${name}`,
    field: name,
  }));
  const call = (name: string | undefined, version = '2026-07-28') =>
    logEntry({ method: 'POST', target: '/mcp', fields: ['tools/call', name, version] });
  const entries = [
    ...[call('search_a'), call('=?base64?c2VhcmNoX2I=?='), call('search_c')],
    ...[call('search_a', '2025-11-25'), call(undefined), call('a, b'), call('other')],
  ];
  const counted = async (options: Partial<ReplayOptions>) => {
    const { policies: rows, refusals } = await replayed(entries, { policies, ...options });
    const numbers = (all: typeof rows) =>
      Object.fromEntries(
        [...all].map(([name, { requests, denied }]) => [name, [requests, denied]]),
      );
    return { policies: numbers(rows), refusals: numbers(refusals) };
  };
  expect(await counted({ mapping })).toEqual({
    policies: { search: [3, 1], bare: [2, 1], default: [1, 0] },
    refusals: { malformed_mcp: [1, 1] },
  });
  expect(await counted({})).toEqual({ policies: { bare: [7, 6] }, refusals: {} });
});
