/** Compares the catalogue of log lines and docs/logs.md with the lines that are written. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  BLOCKED,
  type Decision,
  type Denial,
  decide,
} from '../../../../src/gateway/core/counting/decision.ts';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { compilePolicy } from '../../../../src/gateway/core/policy.ts';
import { denialLine } from '../../../../src/gateway/denials/denials.ts';
import { LOG_LINES } from '../../../../src/gateway/telemetry/log-lines.ts';
import type { Telemetry } from '../../../../src/gateway/telemetry/telemetry.ts';
import { EXAMPLE, LINES } from '../../../../tools/docs/logs.ts';
import { deniedClient } from '../../../support/denials.ts';
import { tableOf } from '../../../support/document-tables.ts';
import { RUNBOOKS } from '../../../support/observability-rules.ts';
import { quotaOf } from '../../../support/quotas.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

interface Written {
  readonly event: string;
  readonly level: number;
  readonly msg: string;
}

const REFERENCE = readFileSync(new URL('../../../../docs/logs.md', import.meta.url), 'utf8');
const DENIAL: Denial = { id: '0123', traceId: '4bf9', ...deniedClient('k.a', 'i.b') };
const DENIED = denied();
const { denial: _denial, ...ALLOWED }: Decision = { ...DENIED, verdict: 'allow' };
const ANSWERED = { dialect: 'nginx', durationMs: 0.5 };
const ENTRY = { address: '10.0.0.1', key: undefined, expiresMs: 1, place: 'policies.yaml:3' };
const BLOCKED_BY = { access: 'blocked', isOverride: false, entry: ENTRY } as const;
const DENIAL_LINE = denialLine(
  { decision: DENIED, denial: { ...DENIAL, accessBy: BLOCKED_BY }, answered: ANSWERED },
  { client: 'i.b', client_id: 'acme', suppressed: 0 },
);
const { mode: _mode, dialect: _dialect, duration_ms: _duration, ...OTHERS } = DENIAL_LINE;
const { blocked_by: _by, listed_at: _at, ...SHADOW } = OTHERS;
const SHADOW_LINE = { ...SHADOW, counted_in: 'store' };
const UNSEEN = { dialect: 'nginx', header: 'x-api-key', requests: 1_000 };
const ERROR = new Error('no');
const ACTION = {
  action: 'block',
  subject: 'c.a',
  client_id: 'acme',
  change: 'blocked',
  until: '2026-01-01T00:00:00.000Z',
  reason: 'hammers',
  by: 'ada',
};

/** Messages of events that have another one each time. */
const OWN_MESSAGES: Readonly<Record<string, string>> = {
  policy_note: 'a note',
  header_unseen:
    'none of 1000 requests through nginx had x-api-key: if clients send it, the proxy does not pass it on, and they share limits; pass the header on, as the configuration from headgate proxy-config nginx --policies FILE does; if no client sends it, remove it from the policy file',
};

type Part = Exclude<
  keyof Telemetry,
  'registry' | 'proxyFaults' | 'traffic' | 'outcomes' | 'setLogging' | 'print' | 'close'
>;
type Calls = {
  readonly [P in Part]: Readonly<Record<keyof Telemetry[P], (telemetry: Telemetry) => void>>;
};

const CALLS: Calls = {
  decisions: {
    denied: ({ decisions }) => decisions.denied(DENIAL_LINE),
    wouldBeDenied: ({ decisions }) => decisions.wouldBeDenied(SHADOW_LINE),
    decided(telemetry) {
      telemetry.setLogging({ allowsOneIn: 1 });
      telemetry.decisions.decided(ALLOWED, 'nginx', 0.5);
      telemetry.setLogging({});
    },
    wouldDeny: ({ decisions }) => decisions.wouldDeny(DENIED),
    identified: ({ decisions }) => decisions.identified('ip'),
    planned: ({ decisions }) => decisions.planned(undefined),
    unmatched: ({ decisions }) => decisions.unmatched(),
    denialRemembered: ({ decisions }) => decisions.denialRemembered(),
    checkFailed: ({ decisions }) => decisions.checkFailed('nginx', ERROR),
    requestAbandoned: ({ decisions }) => decisions.requestAbandoned(),
    requestShed: ({ decisions }) => decisions.requestShed(),
  },
  proxies: {
    misconfigured: ({ proxies }) => proxies.misconfigured('nginx', ['x-original-uri']),
    headerUnseen: ({ proxies }) => proxies.headerUnseen(UNSEEN, true),
    headerArrived: ({ proxies }) => proxies.headerArrived('nginx', 'x-api-key'),
    headerSeen: ({ proxies }) => proxies.headerSeen('nginx', 'x-api-key'),
    policyUnknown: ({ proxies }) => proxies.policyUnknown('lgin'),
    untrustedProxy: ({ proxies }) => proxies.untrustedProxy(),
    headersIgnored: ({ proxies }) => proxies.headersIgnored(['forwarded']),
    unauthorizedRefused: ({ proxies }) => proxies.unauthorizedRefused(),
    connectionFailed: ({ proxies }) => proxies.connectionFailed('grpc', ERROR),
    checkPortOpen: ({ proxies }) => proxies.checkPortOpen(),
  },
  store: {
    answered: ({ store }) => store.answered(1, 1),
    failed: ({ store }) => store.failed('timeout', ERROR, false),
    givenUp: ({ store }) => store.givenUp(),
    connectionFailed: ({ store }) => store.connectionFailed(ERROR),
    startedUncounted: ({ store }) =>
      store.startedUncounted({ allow: ['default'], local: ['login'], deny: [] }),
    degraded: ({ store }) => store.degraded(),
    recovered: ({ store }) => store.recovered(),
    scriptInUse: ({ store }) => store.scriptInUse('0123'),
    windowsCounted: ({ store }) => store.windowsCounted(7),
    memoryUsed: ({ store }) => store.memoryUsed(0.95),
    keysEvicted: ({ store }) => store.keysEvicted(3),
    memoryNearlyFull: ({ store }) => store.memoryNearlyFull(0.95, true),
  },
  rateLimits: {
    counted: ({ rateLimits }) => rateLimits.counted('edge.path', 'within', 1),
    loaded: ({ rateLimits }) => rateLimits.loaded(3),
    refused: ({ rateLimits }) => rateLimits.refused(['a mistake']),
    missing: ({ rateLimits }) => rateLimits.missing('fail'),
    controlPlaneConnected: ({ rateLimits }) => rateLimits.controlPlaneConnected(),
    controlPlaneLost: ({ rateLimits }) => rateLimits.controlPlaneLost('ECONNREFUSED', 500),
    lastGoodUsed: ({ rateLimits }) => rateLimits.lastGoodUsed(),
  },
  settlements: {
    reserved: ({ settlements }) => settlements.reserved('login'),
    counted: ({ settlements }) => settlements.counted('login', 'settle', 'settled'),
    refused: ({ settlements }) => settlements.refused(),
    cut: ({ settlements }) => settlements.cut('completions', 5),
    waiting: ({ settlements }) => settlements.waiting(1),
    lost: ({ settlements }) => settlements.lost(1),
    failed: ({ settlements }) => settlements.failed(ERROR),
    unsettled: ({ settlements }) => settlements.unsettled(['login']),
  },
  peers: {
    saltsNotShared: ({ peers }) => peers.saltsNotShared(ERROR),
    othersUnheard: ({ peers }) => peers.othersUnheard(ERROR),
    heartbeatLost: ({ peers }) => peers.heartbeatLost(ERROR),
    moreThanReplicas: ({ peers }) => peers.moreThanReplicas(2),
  },
  keys: {
    lookedUp: ({ keys }) => keys.lookedUp(3, 2),
    lookUpsLate: ({ keys }) => keys.lookUpsLate(2),
    lookUpsFailed: ({ keys }) => keys.lookUpsFailed(new StoreError('noperm', 'no'), 2),
    tooManyInvented: ({ keys }) => keys.tooManyInvented('i.a'),
    recordUnreadable: ({ keys }) => keys.recordUnreadable('q83vAAAA'),
    changesMissed: ({ keys }) => keys.changesMissed(),
    changesUnread: ({ keys }) => keys.changesUnread(ERROR, false),
    changesRead: ({ keys }) => keys.changesRead(),
  },
  operators: {
    acted: ({ operators }) => operators.acted(ACTION),
    operationFailed: ({ operators }) => operators.operationFailed(ERROR),
    refused: ({ operators }) => operators.refused(),
    overridesInForce: ({ operators }) => operators.overridesInForce(['blocked', 'off']),
    overridesUnread: ({ operators }) => operators.overridesUnread(ERROR),
    overridesRestored: ({ operators }) => operators.overridesRestored(2),
  },
  policyFile: {
    inForce: ({ policyFile }) => policyFile.inForce('0123'),
    loaded: ({ policyFile }) => policyFile.loaded(2),
    removed: ({ policyFile }) => policyFile.removed(['login']),
    refused: ({ policyFile }) => policyFile.refused(['policies.yaml:1:1: version: is 2']),
    note: ({ policyFile }) => policyFile.note('a note'),
  },
  workers: {
    lost: ({ workers }) => workers.lost(1, 'SIGKILL'),
    unresponsive: ({ workers }) => workers.unresponsive(1),
    responding: ({ workers }) => workers.responding(1),
    replaced: ({ workers }) => workers.replaced(2),
    kept: ({ workers }) => workers.kept('exit code 3'),
  },
  log: {
    lost: ({ log }) => log.lost(3),
    restored: ({ log }) => log.restored(3, 'ENOSPC'),
  },
  lifecycle: {
    stopping: ({ lifecycle }) => lifecycle.stopping('SIGTERM'),
    crashed: ({ lifecycle }) => lifecycle.crashed(ERROR),
    stoppedByForce: ({ lifecycle }) => lifecycle.stoppedByForce('a second signal'),
  },
  tracing: {
    off: ({ tracing }) => tracing.off('install it'),
    spansLost: ({ tracing }) => tracing.spansLost('ECONNREFUSED'),
  },
};

/** Lines that the room of denials limits to one a second. */
const LIMITED_BY_DENIALS = ['denied', 'would_be_denied'];

/** What is written when each function is called so many times in a row. */
function linesOf(times: number): string[] {
  const { written, telemetry } = observedTelemetry();
  for (const call of Object.values(CALLS).flatMap((part) => Object.values(part))) {
    for (let i = 0; i < times; i++) call(telemetry);
  }
  return written;
}

function denied(): Decision {
  const quota = quotaOf({ limit: 5, windowMs: 1_000 });
  const policy = compilePolicy(
    {
      name: 'a',
      cost: 1,
      onStoreFailure: 'allow',
      limits: [{ ...quota, window: '1s', per: 'client' }],
      plans: new Map(),
    },
    { unverified: 2, widerNetworks: [] },
  );
  const [source] = policy.limits;
  if (source === undefined) throw new Error('it has a limit');
  const state = { limit: 5, remaining: 0, resetAfterMs: 1_000, retryAfterMs: 200 };
  const result = { admitted: false, states: [state], nowMs: NOON_MS };
  const decision = decide([
    { descriptors: [{ key: 'hg:v1:{g}:a', quota, cost: 1, source }], result, mode: 'enforced' },
  ]);
  return { ...decision, denial: DENIAL };
}

const parse = (line: string) => JSON.parse(line) as Written;
const written = (times: number) => linesOf(times).map(parse);
const countOf = (name: string, lines: readonly Written[]) =>
  lines.filter(({ event }) => event === name).length;

describe('the catalogue', () => {
  test('is compared with every function of telemetry', () => {
    const { telemetry } = observedTelemetry();
    const { registry, proxyFaults, traffic, outcomes, setLogging, print, close, ...parts } =
      telemetry;
    for (const [part, functions] of Object.entries(parts)) {
      expect(Object.keys(CALLS[part as Part]).sort()).toEqual(Object.keys(functions).sort());
    }
  });

  test('has every event that is written, and no other', () => {
    const events = written(1).map(({ event }) => event);
    expect(events.sort()).toEqual(LINES.map(([event]) => event).sort());
  });

  test.each(LINES)('has %s as it is written', (name, { level, message, fields }) => {
    const line = written(1).find(({ event }) => event === name);
    const everyLines = ['level', 'time', 'event', 'msg'];
    expect(Object.keys(line ?? {}).sort()).toEqual([...everyLines, ...Object.keys(fields)].sort());
    expect(line?.level).toBe(pino.levels.values[level]);
    expect(line?.msg).toBe(message ?? OWN_MESSAGES[name]);
  });

  test('says which fields a denial lacks if nothing was counted', () => {
    const line = denialLine(
      { decision: BLOCKED, denial: DENIAL, answered: ANSWERED },
      { client: 'i.b', client_id: undefined, suppressed: 0 },
    );
    const { written, telemetry } = observedTelemetry();
    telemetry.decisions.denied(line);
    const fields = Object.entries<string>(LOG_LINES.denied.fields);
    const absent = fields.filter(([name]) => !Object.hasOwn(parse(written[0] ?? ''), name));
    expect(absent).not.toEqual([]);
    expect(absent).toEqual(fields.filter(([, meaning]) => meaning.includes('; absent ')));
  });

  test('says which lines are written less often than their event happens', () => {
    const [once, twice] = [written(1), written(2)];
    const bounded = LINES.map(([name]) => name).filter(
      (name) => countOf(name, twice) === countOf(name, once),
    );
    const promised = LINES.filter(([, { atMost }]) => atMost !== undefined).map(([name]) => name);
    expect([...LIMITED_BY_DENIALS, ...bounded]).toEqual(promised);
  });

  const withRunbook = LINES.filter(([, { runbook }]) => runbook !== undefined);
  test.each(withRunbook)('sends from %s to a runbook that speaks of it', (name, { runbook }) => {
    expect(RUNBOOKS.get(`${runbook}.md`)).toMatch(new RegExp(`\\b${name}\\b`));
  });
});

describe('the reference', () => {
  test('shows a line like those that are written', () => {
    const [line = ''] = linesOf(1);
    // As most lines, it is about the counter of its client, which is no listed key.
    const rare = ['trace_id', 'client_id', 'came_as', 'counted', 'blocked_by', 'listed_at'];
    const names = Object.keys(parse(line)).filter((name) => !rare.includes(name));
    expect(Object.keys(parse(EXAMPLE))).toEqual(names);
    const { event, level, msg } = parse(EXAMPLE);
    expect(parse(line)).toMatchObject({ event, level, msg });
  });

  test('has the fields of every line', () => {
    const { written, telemetry } = observedTelemetry({ worker: 1 });
    telemetry.proxies.untrustedProxy();
    const documented = tableOf('logs.md', ['field', 'is']).map(({ field }) => field);
    expect(Object.keys(parse(written[0] ?? ''))).toEqual(documented);
  });

  test('has commands that find what it says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-log-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const lines = [`${EXAMPLE}\n`, ...linesOf(1)];
    writeFileSync(join(folder, 'headgate.log'), `headgate answers proxies\n${lines.join('')}`);
    const commands = [...REFERENCE.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text);
    const outputs = commands.map((text) =>
      execFileSync('sh', ['-c', text], { cwd: folder, encoding: 'utf8' }),
    );
    const serious = lines.filter((line) => parse(line).level >= 40);
    expect(outputs).toEqual([
      `${EXAMPLE}\n`,
      serious.slice(-10).join(''),
      expect.stringMatching(/^ *2 "event":"denied"\n( *1 "event":"[a-z_]+"\n)+$/),
    ]);
  });
});
