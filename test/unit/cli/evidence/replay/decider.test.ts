/** Limits that refund: a replay counts as a gateway would that gets the status of each request at once. */
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { createLogRequests } from '../../../../../src/cli/evidence/log-request.ts';
import { lastingSalts } from '../../../../../src/cli/evidence/policies.ts';
import { Decider } from '../../../../../src/cli/evidence/replay/decider.ts';
import { Replay } from '../../../../../src/cli/evidence/replay/replay.ts';
import { createCheck, UNOBSERVED } from '../../../../../src/gateway/core/check.ts';
import type { CheckRequest } from '../../../../../src/gateway/core/check-request.ts';
import type { Decision } from '../../../../../src/gateway/core/counting/decision.ts';
import type { PolicySet } from '../../../../../src/gateway/core/matching/policy-set.ts';
import { NO_OVERRIDES } from '../../../../../src/gateway/core/overrides.ts';
import { createSettling } from '../../../../../src/gateway/settlement/settling.ts';
import { listedKeys } from '../../../../../src/gateway/settlement/signing-keys.ts';
import { MemoryStore } from '../../../../../src/gateway/stores/memory/memory-store.ts';
import { LOG_START_MS, logEntry, seededRandom } from '../../../../support/log-entries.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { rounds } from '../../../../support/short-form.ts';

const ADDRESSES = ['203.0.113.1', '203.0.113.2', '2001:db8::1', '2001:db8:0:1::1'];
const STATUSES = [200, 204, 302, 401, 404, 500, undefined];
const ALGORITHMS = ['sliding-window-log', 'sliding-window-counter', 'token-bucket', 'fixed-window'];

type Random = () => number;
const pick = <T>(random: Random, all: readonly T[]): T =>
  all[Math.floor(random() * all.length)] as T;

function policiesFrom(random: Random): PolicySet {
  const policy = (match: string, i: number) => {
    const rate = `${1 + Math.floor(random() * 6)}/${pick(random, ['1s', '10s', '1min'])}`;
    const refund = `refund: { status: [${pick(random, ['204', '200, 302', '401, 404, 500'])}] }`;
    const per = pick(random, ['client', 'ip', 'global']);
    const limit = `{ rate: ${rate}, per: ${per}, algorithm: ${pick(random, ALGORITHMS)}, ${refund} }`;
    const mode = pick(random, ['enforce', 'enforce', 'shadow']);
    const always = random() < 0.4 ? ', always: true' : '';
    const second = `{ rate: ${5 + Math.floor(random() * 20)}/1h, per: ${per} }`;
    return `  - { name: p${i}, match: { path: ${match} }, mode: ${mode}${always}, limits: [${limit}, ${second}] }`;
  };
  return policySetFrom(`version: 1
identity: { sources: [ip], ip: { ipv6_prefixes: { 64: 1x, 48: 2x } } }
default: { limits: [{ rate: 30/1min, algorithm: fixed-window }] }
policies:
${['/login', '/a/*', '/a/b'].map(policy).join('\n')}
`);
}

function entriesFrom(random: Random): LogEntry[] {
  let startMs = LOG_START_MS;
  const gapMs = pick(random, [50, 1_000, 10_000]);
  return Array.from({ length: 300 }, () => {
    startMs += random() < 0.3 ? 0 : Math.floor(random() * gapMs);
    const [address, target] = [
      pick(random, ADDRESSES),
      pick(random, ['/login', '/a/b', '/a/c', '/']),
    ];
    return { ...logEntry({ startMs, address, target }), status: pick(random, STATUSES) };
  });
}

/** A gateway in memory, with real tokens. */
function judge(policies: PolicySet) {
  let nowMs = 0;
  const now = () => nowMs;
  const store = new MemoryStore({ now, maxKeys: 1_000_000 });
  const none = () => {};
  const settling = createSettling({
    ...{ store, now, local: undefined, lifeMs: 900_000, closeWithinMs: 0 },
    ...{ policies: { current: policies }, keys: listedKeys(['a key of this test']) },
    events: {
      ...{ reserved: none, counted: none, cut: none, waiting: none, lost: none, failed: none },
    },
  });
  const wouldDeny: Decision[] = [];
  const check = createCheck({
    ...{ store, local: store, salts: lastingSalts(), newId: () => '' },
    overrides: { current: NO_OVERRIDES },
    issueToken: settling.issueToken,
    observer: { ...UNOBSERVED, wouldDeny: (decision) => wouldDeny.push(decision) },
  });
  return (request: CheckRequest, { startMs, status }: LogEntry) => {
    nowMs = startMs;
    wouldDeny.length = 0;
    const { settleToken, ...decision } = check(request, policies, nowMs) as Decision;
    if (settleToken !== undefined) void settling.settle(settleToken, { status }, 'settle');
    return essence(decision, wouldDeny);
  };
}

const essence = (decision: Decision, wouldDeny: readonly Decision[]) =>
  [decision, ...wouldDeny].map(
    ({ verdict, reason, policy, binding }) =>
      `${verdict} ${reason} ${policy} ${JSON.stringify(binding?.state)}`,
  );

test('decides as a gateway that settles each request with the status of the log', () => {
  const verdicts = new Map<string, number>();
  let refunded = 0;
  for (let seed = 1; seed <= rounds(40); seed++) {
    const random = seededRandom(seed * 104_729);
    const policies = policiesFrom(random);
    const requestOf = createLogRequests(policies, []);
    const isEvaluated = () => true;
    const salts = lastingSalts();
    const decider = new Decider({ policies, salts, modes: new Map(), isEvaluated });
    const judged = judge(policies);
    for (const [line, entry] of entriesFrom(random).entries()) {
      const request = requestOf(entry) as CheckRequest;
      const wanted = judged(request, entry);
      const found = decider.decide(request, entry.startMs, entry.status);
      const given = essence(found.decision, found.wouldDeny);
      if (given.join() !== wanted.join())
        expect(given, `seed ${seed} line ${line}`).toEqual(wanted);
      const { verdict } = found.decision;
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
      refunded += found.counted.length - (found.charged ?? found.counted).length;
    }
  }
  expect(verdicts.get('allow')).toBeGreaterThan(100);
  expect(verdicts.get('deny')).toBeGreaterThan(100);
  expect(refunded).toBeGreaterThan(100);
});

describe('a replay', () => {
  const replay = (limits: string, entries: readonly LogEntry[]) => {
    const policies = policySetFrom(`version: 1
identity: { sources: [ip] }
default: { limits: [${limits}] }
`);
    const options = { policies, against: undefined, mapping: [], precisionMs: 1, thread: 0 };
    const replayed = new Replay({ ...options, measuresPeaks: true, threads: 1 });
    for (const entry of entries) {
      const kept = replayed.keep(entry);
      if (kept !== undefined) replayed.add(kept);
    }
    const { policies: found, limits: rows, peaks, facts } = replayed.finish();
    const highest = [...peaks.values()].flatMap((peak) => [...peak.keys()]).sort();
    const counted = [...rows.values()].map(({ requests }) => requests);
    return { ...found.get('default'), peaks: highest, counted, lacking: facts.withoutStatus };
  };
  const entries = (statuses: readonly (number | undefined)[]) =>
    statuses.map((status, i) => ({ ...logEntry({ startMs: LOG_START_MS + i }), status }));

  test('refunds by the status of the line', () => {
    const statuses = [204, 204, 401, 204, 401, undefined, 204, 204, 401];
    const found = replay('{ rate: 3/1min, refund: { status: [204] } }, 100/1h', entries(statuses));
    expect(found).toMatchObject({ requests: 9, denied: 3, counted: [9, 9], lacking: 1 });
    // What was requested, whether or not it was denied: in the limit that refunds, without what costs nothing.
    expect(found.peaks).toEqual([4, 9]);
  });

  test('counts what is reserved if the log cannot tell the outcome', () => {
    const limits =
      '{ rate: 1000/1min, algorithm: fixed-window, unit: tokens, reserve: 400, unknown: 900, refund: { status: [500] } }, 100/1h';
    expect(replay(limits, entries([200, 500, 200, 200]))).toMatchObject({ denied: 1 });
    const byHeader = '{ rate: 2/1min, refund: { header: { x-login: ok } } }, 100/1h';
    expect(replay(byHeader, entries([200, 200, 200]))).toMatchObject({ denied: 1 });
  });
});
