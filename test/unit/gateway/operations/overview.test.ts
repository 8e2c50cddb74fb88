/** What all gateways did and how they are, gathered from their reports. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import type { GatewayReport } from '../../../../src/gateway/operations/gateway-report.ts';
import { overviewSchema } from '../../../../src/gateway/operations/schemas/overview.ts';
import { STEP_MS, STEPS } from '../../../../src/gateway/telemetry/decisions/traffic-history.ts';
import { type OperatedOptions, operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

const SET = policySetFrom(`
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [2/5min] }
  - { name: search, match: { path: /search }, limits: [3/1h], on_store_failure: deny }
  - { name: trial, mode: shadow, match: { path: /trial }, limits: [1/1h], on_store_failure: local }`);

const LOGIN = { target: '/login', peer: '203.0.113.9' } as const;
const TERMS = { for: '10min', reason: 'a test', by: 'ada' } as const;
const ZEROS = new Array<number>(STEPS).fill(0);
const ending = (...counts: number[]) => [...ZEROS.slice(counts.length), ...counts];
const iso = (ms: number) => new Date(ms).toISOString();

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

const setUp = (options: Partial<OperatedOptions> = {}) =>
  operatedGateway({ policies: SET, now: Date.now, ...options });
type Operated = ReturnType<typeof setUp>;

/** The end of the step, and a second more: another gateway's clock may be behind. */
function passStep({ history }: Operated): void {
  vi.setSystemTime((Math.floor(Date.now() / STEP_MS) + 1) * STEP_MS);
  history.sample(Date.now());
  vi.setSystemTime(Date.now() + 1_000);
}

function peerReport(parts: Partial<GatewayReport> = {}): GatewayReport {
  return {
    is_worker: true,
    traffic: [],
    store: { states: ['enforced'], sinceMs: NOON_MS - 5_000 },
    policy_file: { digest: 'b'.repeat(64), sinceMs: NOON_MS - 1_000 },
    actions: [],
    ...parts,
  };
}

const traffic = (policy: string, requests: number[], denials: number[] = []) => ({
  ...{ policy, requests, denials, wouldDeny: [] },
});

describe('traffic', () => {
  test('is that of all gateways, for every policy of the file', async () => {
    const peer = peerReport({
      traffic: [
        traffic('login', ending(10), ending(4)),
        traffic('none', ending(2), ending(2)),
        traffic('removed', ending(9)),
      ],
    });
    const gateway = setUp({ peerAnswers: [peer], silentGateways: 1 });
    for (let i = 0; i < 3; i++) await gateway.visit(LOGIN);
    for (let i = 0; i < 2; i++) await gateway.visit({ ...LOGIN, target: '/trial' });
    await vi.advanceTimersByTimeAsync(0);
    passStep(gateway);
    const overview = await gateway.operate('overview');
    expect(overviewSchema.parse(overview)).toEqual(overview);
    expect(overview).toMatchObject({
      gateways: { asked: 3, answered: 2, workers: 1 },
      ...{ step_ms: STEP_MS, until: iso(NOON_MS + STEP_MS) },
      policies: [
        { name: 'login', requests: ending(13), denials: ending(5), would_deny: ZEROS },
        { name: 'search', requests: ZEROS, on_store_failure: 'deny' },
        { name: 'trial', mode: 'shadow', requests: ending(2), would_deny: ending(1) },
        { name: 'default', limits: ['1000 requests per hour, per client'] },
      ],
      without_policy: { requests: ending(2), denials: ending(2) },
    });
  });

  test('of blocked clients is shown without a policy', async () => {
    const gateway = setUp();
    await gateway.operate('block', { client: '203.0.113.9', ...TERMS });
    await gateway.visit(LOGIN);
    passStep(gateway);
    const { without_policy } = await gateway.operate('overview');
    expect(without_policy).toMatchObject({ requests: ending(1), denials: ending(1) });
  });

  test('of too many policies is that of the busiest ones', async () => {
    const names = Array.from({ length: 250 }, (_, i) => `p${i}`);
    const lines = names.map(
      (name) => `  - { name: ${name}, match: { path: /${name} }, limits: [9/1h] }`,
    );
    const policies = policySetFrom(
      `version: 1\ndefault: { limits: [9/1h] }\npolicies:\n${lines.join('\n')}`,
    );
    const gateway = setUp({ policies });
    for (const name of names.slice(100)) await gateway.visit({ ...LOGIN, target: `/${name}` });
    passStep(gateway);
    const overview = await gateway.operate('overview');
    expect(overview.policies).toHaveLength(200);
    expect(overview.policies_left_out).toBe(51);
    const shown = overview.policies.map(({ name }) => name);
    expect(shown).toEqual(expect.arrayContaining(names.slice(100)));
    expect(shown.slice(-150)).toEqual(names.slice(100));
  });

  test('is gathered once a second, however many ask', async () => {
    const gateway = setUp();
    const asked = vi.spyOn(gateway.gateway, 'queryAll');
    const first = await gateway.operate('overview');
    for (let i = 0; i < 20; i++) expect(await gateway.operate('overview')).toBe(first);
    expect(asked).toHaveBeenCalledTimes(1);
    vi.setSystemTime(Date.now() + 1_000);
    expect((await gateway.operate('overview')).time).toBe(iso(NOON_MS + 1_000));
    expect(asked).toHaveBeenCalledTimes(2);
  });
});

test('rates are the mean of the last ten seconds, of all gateways', async () => {
  const peer = peerReport({
    traffic: [
      traffic('login', ending(900, 10, 30), ending(900, 5, 15)),
      traffic('none', ending(20), ending(10)),
    ],
  });
  const { rate_ms, rates, policies, without_policy } = await setUp({
    peerAnswers: [peer],
  }).operate('overview');
  expect(rate_ms).toBe(10_000);
  expect(policies[0]?.rates).toEqual({ requests: 4, denials: 2, would_deny: 0 });
  expect(without_policy.rates).toEqual({ requests: 2, denials: 1, would_deny: 0 });
  expect(rates).toEqual({ requests: 6, denials: 3, would_deny: 0 });
});

describe('the store', () => {
  test('that is late now and then has a state apart from one that does not answer', async () => {
    const times = { sinceMs: NOON_MS - 9_000, reason: 'timeout' };
    const lapses = { failed: 1, checks: 120, withinMs: 10_000 };
    const peer = (failed: number) =>
      peerReport({
        store: { states: ['open'], ...times, lapses: { failed, checks: 40, withinMs: 10_000 } },
      });
    const down = peerReport({ store: { states: ['open'], ...times } });
    const gateway = setUp({
      store: { isDegraded: true, lapses, ...times },
      peerAnswers: [peer(2), down],
    });
    const { states } = (await gateway.operate('overview')).store;
    expect(states).toMatchObject([
      { state: 'open', gateways: 2, lapses: { failed: 3, checks: 160, within_ms: 10_000 } },
      { state: 'open', gateways: 1 },
      { state: 'closed', gateways: 1, lapses: { failed: 1, checks: 120, within_ms: 10_000 } },
    ]);
    expect(states[1]).not.toHaveProperty('lapses');
  });

  test('has a state for each way in which policies are decided without it', async () => {
    const times = { sinceMs: NOON_MS - 9_000, reason: 'timeout' };
    const store = { isDegraded: true, lapses: undefined, ...times };
    const gateway = setUp({ store, peerAnswers: [peerReport()] });
    const failed = { gateways: 1, since: iso(NOON_MS - 9_000), reason: 'timeout' };
    expect((await gateway.operate('overview')).store).toEqual({
      kind: 'memory',
      states: [
        { state: 'enforced', gateways: 1, since: iso(NOON_MS - 5_000), policies: [] },
        { state: 'open', ...failed, policies: ['login', 'default'] },
        { state: 'closed', ...failed, policies: ['search'] },
      ],
    });
  });

  test('counts gateways in the same state together, since the first of them', async () => {
    const peers = [peerReport(), peerReport({ store: { states: ['enforced'], sinceMs: 7 } })];
    const { store } = await setUp({ peerAnswers: peers }).operate('overview');
    expect(store.states).toEqual([{ state: 'enforced', gateways: 3, since: iso(7), policies: [] }]);
  });

  test('says why in one short line', async () => {
    const reason = `other: \u001b[2J${'x'.repeat(500)}`;
    const gateway = setUp({
      store: { isDegraded: true, sinceMs: NOON_MS, reason, lapses: undefined },
    });
    const [state] = (await gateway.operate('overview')).store.states;
    expect(state?.reason).toMatch(/^other: \\u\{1b\}\[2Jx+…$/);
    expect(state?.reason).toHaveLength(100);
  });
});

test('the policy files in force are counted, and the last refused one has its mistakes', async () => {
  const refused = {
    atMs: NOON_MS - 10,
    mistakes: ['policies.yaml:3:5: bad', ...Array.from({ length: 30 }, () => 'x'.repeat(1_000))],
  };
  const older = { atMs: NOON_MS - 20, mistakes: ['older'] };
  const own = { digest: 'a'.repeat(64), history: { sinceMs: NOON_MS - 60_000, refused } };
  const peers = [
    peerReport(),
    peerReport({ policy_file: { digest: 'b'.repeat(64), sinceMs: 9, refused: older } }),
  ];
  const { policy_file: file } = await setUp({ policyFile: own, peerAnswers: peers }).operate(
    'overview',
  );
  expect(file.digests).toEqual([
    { digest: 'b'.repeat(64), gateways: 2, since: iso(9) },
    { digest: 'a'.repeat(64), gateways: 1, since: iso(NOON_MS - 60_000) },
  ]);
  expect(file.refused?.at).toBe(iso(NOON_MS - 10));
  expect(file.refused?.mistakes).toHaveLength(20);
  expect(file.refused?.mistakes[0]).toBe('policies.yaml:3:5: bad');
  expect(file.refused?.mistakes[1]).toHaveLength(300);
});

describe.each([
  ['a proxy that is not trusted', 'untrustedMs', 'untrusted_proxy'],
  ['a caller without the secret', 'refusedMs', 'refused_caller'],
] as const)('%s', (_, fact, fault) => {
  const history = { sinceMs: NOON_MS - 60_000, refused: undefined };
  const foundIn = async (ownMs?: number, peerMs?: number) => {
    const proxyFaults = { untrustedMs: undefined, refusedMs: undefined, [fact]: ownMs };
    const peer = peerReport(peerMs === undefined ? {} : { [fault]: { atMs: peerMs } });
    const policyFile = { digest: 'a'.repeat(64), history };
    const gateway = setUp({ proxyFaults, policyFile, peerAnswers: [peer] });
    return (await gateway.operate('overview'))[fault];
  };

  test('is reported with the gateways that it called, and when it last did', async () => {
    expect(await foundIn()).toBe(undefined);
    expect(await foundIn(NOON_MS - 1_000)).toEqual({ gateways: 1, last: iso(NOON_MS - 1_000) });
    expect(await foundIn(NOON_MS - 1_000, NOON_MS - 500)).toEqual({
      gateways: 2,
      last: iso(NOON_MS - 500),
    });
  });

  test('is no longer reported after 15 minutes', async () => {
    expect(await foundIn(undefined, NOON_MS - 16 * 60_000)).toBe(undefined);
  });

  test('of the time before another policy file was loaded is reported if the file is not the cause', async () => {
    const found = await foundIn(history.sinceMs - 1);
    expect(found !== undefined).toBe(fault === 'refused_caller');
  });
});

describe('actions', () => {
  test('of all gateways are listed, newest first', async () => {
    const action = { action: 'reset', subject: 'u.x', change: 'reset login', by: 'bob' };
    const of = (ms: number) => ({ ...action, at: iso(ms), is_confirmed: true });
    const actions = Array.from({ length: 20 }, (_, i) => of(NOON_MS + 500 - i));
    const gateway = setUp({ peerAnswers: [peerReport({ actions })] });
    await gateway.operate('setMode', { policy: 'login', mode: 'off', ...TERMS });
    vi.setSystemTime(NOON_MS + 1_000);
    await gateway.operate('restoreMode', { policy: 'login', by: 'bob' });
    const found = (await gateway.operate('overview')).actions;
    expect(found).toHaveLength(20);
    expect(found[0]).toEqual({
      ...{ at: iso(NOON_MS + 1_000), action: 'mode', subject: 'login' },
      ...{ change: 'as the policy file says', by: 'bob', is_confirmed: true },
    });
    expect(found[1]?.at).toBe(iso(NOON_MS + 500));
  });

  test('are there at once at the gateway that was called', async () => {
    const { operate } = setUp();
    expect((await operate('overview')).actions).toEqual([]);
    await operate('setMode', { policy: 'login', mode: 'off', ...TERMS });
    expect(await operate('overview')).toMatchObject({
      actions: [{ change: 'off' }],
      policies: [{ name: 'login', mode: 'off' }, {}, {}, {}],
    });
  });

  test('that the store did not confirm are told apart', async () => {
    const { operate, gateway } = setUp();
    const away = () => Promise.reject(new StoreError('timeout', 'Redis did not answer in time'));
    Object.assign(gateway.store, { reset: away });
    await expect(operate('reset', { client: '203.0.113.9' })).rejects.toThrow();
    expect((await operate('overview')).actions).toMatchObject([
      { change: 'reset all policies (not confirmed by Redis: timeout)', is_confirmed: false },
    ]);
  });
});

test.each<[string, unknown]>([
  ['null', null],
  ['a text', 'x'],
  ['denials', []],
  ['nothing', {}],
  ['no state', peerReport({ store: { states: [], sinceMs: 0 } })],
  ['an unknown state', { ...peerReport(), store: { states: ['well'], sinceMs: 0 } }],
  ['a time beyond dates', peerReport({ store: { states: ['open'], sinceMs: 1e17 } })],
  ['control characters', peerReport({ store: { states: ['open'], sinceMs: 0, reason: '\u001b' } })],
  ['a long text', peerReport({ store: { states: ['open'], sinceMs: 0, reason: 'x'.repeat(999) } })],
  ['an odd digest', peerReport({ policy_file: { digest: '<script>', sinceMs: 0 } })],
  ['a short series', peerReport({ traffic: [traffic('login', [1])] })],
  ['negative counts', peerReport({ traffic: [traffic('login', ending(-1))] })],
  ['fractions', peerReport({ traffic: [traffic('login', ending(0.5))] })],
  ['counts beyond any traffic', peerReport({ traffic: [traffic('login', ending(2 ** 40))] })],
  ['texts as counts', peerReport({ traffic: [traffic('login', ZEROS.map(String) as never)] })],
  [
    'too many policies',
    peerReport({ traffic: Array.from({ length: 201 }, () => traffic('login', ending(1))) }),
  ],
  [
    'too many actions',
    peerReport({
      actions: Array.from({ length: 21 }, () => ({
        ...{ at: iso(0), action: 'a', change: 'b', by: 'c', is_confirmed: true },
      })),
    }),
  ],
  [
    'an action without a time',
    peerReport({
      actions: [{ at: 'never', action: 'a', change: 'b', by: 'c', is_confirmed: true }],
    }),
  ],
])('an answer with %s is not counted as an answer', async (_, answer) => {
  const overview = await setUp({ peerAnswers: [answer] }).operate('overview');
  expect(overview.gateways).toEqual({ asked: 2, answered: 1, workers: 0 });
  expect(overview.store.states).toHaveLength(1);
  expect(overview.policies.every(({ requests }) => requests.every((n) => n === 0))).toBe(true);
});

describe('an overview is shared by all callers', () => {
  const timeOf = async ({ operate }: Operated) => (await operate('overview')).time;

  test('until it is a second old, or the clock is set back', async () => {
    const gateway = setUp();
    expect([await timeOf(gateway), await timeOf(gateway)]).toEqual([iso(NOON_MS), iso(NOON_MS)]);
    vi.setSystemTime(NOON_MS + 999);
    expect(await timeOf(gateway)).toBe(iso(NOON_MS));
    vi.setSystemTime(NOON_MS + 1_000);
    expect(await timeOf(gateway)).toBe(iso(NOON_MS + 1_000));
    vi.setSystemTime(NOON_MS - 3_600_000);
    expect(await timeOf(gateway)).toBe(iso(NOON_MS - 3_600_000));
  });

  test('until an operator acts', async () => {
    const gateway = setUp();
    await timeOf(gateway);
    vi.setSystemTime(NOON_MS + 1);
    await gateway.operate('block', { client: '203.0.113.9', ...TERMS });
    const times = await Promise.all([timeOf(gateway), timeOf(gateway)]);
    expect(times).toEqual([iso(NOON_MS + 1), iso(NOON_MS + 1)]);
  });
});
