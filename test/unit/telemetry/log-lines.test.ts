/** The catalogue of log lines and its reference, held against what is written. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BLOCKED, type Decision, type Denial, decide } from '../../../src/core/decision.ts';
import { compilePolicy } from '../../../src/core/policy.ts';
import { LOG_LINES } from '../../../src/telemetry/log-lines.ts';
import { createTelemetry, type Telemetry } from '../../../src/telemetry/telemetry.ts';
import { EXAMPLE, LINES } from '../../../tools/docs/logs.ts';
import { deniedClient } from '../../support/denials.ts';
import { tableOf } from '../../support/document-tables.ts';
import { RUNBOOKS } from '../../support/observability-rules.ts';
import { quotaOf } from '../../support/quotas.ts';
import { NOON_MS } from '../../support/requests.ts';

interface Written {
  readonly event: string;
  readonly level: number;
  readonly msg: string;
}

const REFERENCE = readFileSync(new URL('../../../docs/logs.md', import.meta.url), 'utf8');
const DENIAL: Denial = { id: '0123', ...deniedClient('k.a', 'i.b') };
const DENIED = denied();
const ERROR = new Error('no');
const ACTION = {
  action: 'block',
  subject: 'i.a',
  change: 'blocked',
  until: '2026-01-01T00:00:00.000Z',
  reason: 'hammers',
  by: 'ada',
};

/** Of lines that each say something else. */
const OWN_MESSAGES: Readonly<Record<string, string>> = {
  policy_note: 'a note',
  header_unseen:
    'none of 1000 requests through nginx had x-api-key: if clients send it, the proxy does not pass it on, and their limits are shared; run headgate proxy-config nginx --policies FILE, or pass the header on; if nobody sends it, take it out of the policy file',
};

/** In this order, since some are told only while the store answers, and others only while it does not. */
const CALLS: Readonly<
  Record<
    Exclude<keyof Telemetry, 'registry' | 'denied' | 'wouldBeDenied' | 'close'>,
    (telemetry: Telemetry) => void
  >
> = {
  decided: (telemetry) => telemetry.decided(DENIED, 'nginx', 0.5),
  wouldDeny: (telemetry) => telemetry.wouldDeny(DENIED),
  nameDenial: (telemetry) => telemetry.nameDenial(DENIED, deniedClient('i.a'), false),
  setLogging(telemetry) {
    telemetry.setLogging({ allowsOneIn: 1 });
    const { denial, ...allowed } = DENIED;
    telemetry.decided({ ...allowed, verdict: 'allow' }, 'nginx', 0.5);
    telemetry.setLogging({});
  },
  requestAbandoned: (telemetry) => telemetry.requestAbandoned(),
  operatorActed: (telemetry) => telemetry.operatorActed(ACTION),
  operatorRefused: (telemetry) => telemetry.operatorRefused(),
  operationFailed: (telemetry) => telemetry.operationFailed(ERROR),
  overridesInForce: (telemetry) => telemetry.overridesInForce(['blocked', 'off']),
  overridesRestored: (telemetry) => telemetry.overridesRestored(2),
  overridesUnread: (telemetry) => telemetry.overridesUnread(ERROR),
  windowsCounted: (telemetry) => telemetry.windowsCounted(7),
  identified: (telemetry) => telemetry.identified('ip'),
  unmatched: (telemetry) => telemetry.unmatched(),
  checkFailed: (telemetry) => telemetry.checkFailed('nginx', ERROR),
  proxyMisconfigured: (telemetry) => telemetry.proxyMisconfigured('nginx', ['x-original-uri']),
  headerUnseen: (telemetry) =>
    telemetry.headerUnseen({ dialect: 'nginx', header: 'x-api-key', requests: 1_000 }),
  headerSeen: (telemetry) => telemetry.headerSeen('nginx', 'x-api-key'),
  policyUnknown: (telemetry) => telemetry.policyUnknown('lgin'),
  untrustedProxy: (telemetry) => telemetry.untrustedProxy(),
  headersIgnored: (telemetry) => telemetry.headersIgnored(['forwarded']),
  unauthorizedRefused: (telemetry) => telemetry.unauthorizedRefused(),
  checkPortOpen: (telemetry) => telemetry.checkPortOpen(),
  scriptInUse: (telemetry) => telemetry.scriptInUse('0123'),
  denialRemembered: (telemetry) => telemetry.denialRemembered(),
  saltsNotShared: (telemetry) => telemetry.saltsNotShared(ERROR),
  othersUnheard: (telemetry) => telemetry.othersUnheard(ERROR),
  heartbeatLost: (telemetry) => telemetry.heartbeatLost(ERROR),
  heartbeatTaken: (telemetry) => telemetry.heartbeatTaken(),
  storeAnswered: (telemetry) => telemetry.storeAnswered(1, 1),
  storeFailed: (telemetry) => telemetry.storeFailed('timeout', ERROR),
  storeGivenUp: (telemetry) => telemetry.storeGivenUp(),
  storeConnectionFailed: (telemetry) => telemetry.storeConnectionFailed(ERROR),
  isDegraded: (telemetry) => telemetry.isDegraded(),
  storeConnected: (telemetry) => telemetry.storeConnected(),
  storeProbed: (telemetry) => telemetry.storeProbed(),
  startedUncounted: (telemetry) =>
    telemetry.startedUncounted({ allow: ['default'], local: ['login'], deny: [] }),
  requestShed: (telemetry) => telemetry.requestShed(),
  policiesInForce: (telemetry) => telemetry.policiesInForce('0123'),
  policiesLoaded: (telemetry) => telemetry.policiesLoaded(2),
  policiesRemoved: (telemetry) => telemetry.policiesRemoved(['login']),
  policiesRefused: (telemetry) => telemetry.policiesRefused(['policies.yaml:1:1: version: is 2']),
  policyNote: (telemetry) => telemetry.policyNote('a note'),
  workerLost: (telemetry) => telemetry.workerLost(1, 'SIGKILL'),
  workersReplaced: (telemetry) => telemetry.workersReplaced(2),
  workersKept: (telemetry) => telemetry.workersKept('exit code 3'),
  stopping: (telemetry) => telemetry.stopping('SIGTERM'),
  crashed: (telemetry) => telemetry.crashed(ERROR),
  stoppedByForce: (telemetry) => telemetry.stoppedByForce('a second signal'),
};

function setUp(worker?: number) {
  const lines: string[] = [];
  const telemetry = createTelemetry({
    level: 'trace',
    version: '1.2.3',
    worker,
    now: () => NOON_MS,
    destination: { write: (line) => void lines.push(line) },
  });
  onTestFinished(() => telemetry.close());
  return { lines, telemetry };
}

/** What is written when each function is called so many times in a row. */
function linesOf(times: number): string[] {
  const { lines, telemetry } = setUp();
  for (const call of Object.values(CALLS)) {
    for (let i = 0; i < times; i++) call(telemetry);
  }
  return lines;
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
  const decision = decide([{ key: 'hg:v1:{g}:a', quota, cost: 1, source }], result, 'enforced');
  return { ...decision, denial: DENIAL };
}

const parse = (line: string) => JSON.parse(line) as Written;
const written = (times: number) => linesOf(times).map(parse);

describe('the catalogue', () => {
  test('is held against every function that can write', () => {
    const names = Object.entries(setUp().telemetry)
      .filter(([, value]) => typeof value === 'function')
      .map(([name]) => name);
    expect([...Object.keys(CALLS), 'close'].sort()).toEqual(names.sort());
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

  test('says which fields a denial lacks that nothing was counted for', () => {
    const { lines, telemetry } = setUp();
    telemetry.decided({ ...BLOCKED, denial: DENIAL }, 'nginx', 0.5);
    const fields = Object.entries<string>(LOG_LINES.denied.fields);
    const absent = fields.filter(([name]) => !Object.hasOwn(parse(lines[0] ?? ''), name));
    expect(absent).not.toEqual([]);
    expect(absent).toEqual(fields.filter(([, meaning]) => meaning.includes('; absent ')));
  });

  test('says which lines do not come as often as what they tell of', () => {
    const count = (name: string, lines: readonly Written[]) =>
      lines.filter(({ event }) => event === name).length;
    const [once, twice] = [written(1), written(2)];
    const bounded = LINES.filter(([name]) => count(name, twice) === count(name, once));
    // A store recovers once, however often it is heard of after that.
    const others = bounded.filter(([name]) => name !== 'store_recovered');
    const promised = LINES.filter(([, { atMost }]) => atMost !== undefined);
    expect(others.map(([name]) => name)).toEqual(promised.map(([name]) => name));
  });

  const withRunbook = LINES.filter(([, { runbook }]) => runbook !== undefined);
  test.each(withRunbook)('sends from %s to a runbook that speaks of it', (name, { runbook }) => {
    expect(RUNBOOKS.get(`${runbook}.md`)).toMatch(new RegExp(`\\b${name}\\b`));
  });
});

describe('the reference', () => {
  test('shows a line like those that are written', () => {
    const [line = ''] = linesOf(1);
    // Of its client, as most are, and of nobody else.
    const names = Object.keys(parse(line)).filter((name) => !['came_as', 'counted'].includes(name));
    expect(Object.keys(parse(EXAMPLE))).toEqual(names);
    const { event, level, msg } = parse(EXAMPLE);
    expect(parse(line)).toMatchObject({ event, level, msg });
  });

  test('has the fields of every line', () => {
    const { lines, telemetry } = setUp(1);
    telemetry.untrustedProxy();
    const told = tableOf('logs.md', ['field', 'is']).map(({ field }) => field);
    expect(Object.keys(parse(lines[0] ?? ''))).toEqual(told);
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
