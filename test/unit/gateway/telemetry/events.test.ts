/** Each event of telemetry: the log line that it writes and the metric that it changes. */
import { describe, expect, test } from 'vitest';
import {
  type Decision,
  EXEMPT,
  unmeasured,
} from '../../../../src/gateway/core/counting/decision.ts';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import type { Telemetry } from '../../../../src/gateway/telemetry/telemetry.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const NOPERM = new Error('NOPERM no permissions');
const ERR = { type: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' };
const ACTION = {
  action: 'block',
  subject: 'c.a',
  client_id: 'acme',
  change: 'blocked',
  until: '2026-01-01T00:00:00.000Z',
  reason: 'hammers',
  by: 'ada',
};
const UNSEEN = { dialect: 'nginx', header: 'x-api-key', requests: 1_000 };
const OVERFULL = Array.from({ length: 23 }, (_, i) => `p${i}`);

type Row = readonly [
  what: string,
  report: (telemetry: Telemetry) => void,
  line: Record<string, unknown> | undefined,
  samples: readonly string[],
];

const ROWS: readonly Row[] = [
  [
    'a check that failed',
    ({ decisions }) => decisions.checkFailed('nginx', REFUSED),
    { event: 'check_failed', level: 50, dialect: 'nginx', err: ERR },
    ['check_faults_total{dialect="nginx"} 1'],
  ],
  [
    'an abandoned request',
    ({ decisions }) => decisions.requestAbandoned(),
    undefined,
    ['requests_abandoned_total 1'],
  ],
  [
    'a shed request',
    ({ decisions }) => decisions.requestShed(),
    { event: 'requests_shed', level: 50 },
    ['requests_shed_total 1'],
  ],
  [
    'a remembered denial',
    ({ decisions }) => decisions.denialRemembered(),
    undefined,
    ['remembered_denials_total 1'],
  ],
  [
    'an identified client',
    ({ decisions }) => decisions.identified('api_key'),
    undefined,
    ['identity_total{kind="api_key"} 1'],
  ],
  [
    'an unmatched request',
    ({ decisions }) => decisions.unmatched(),
    undefined,
    ['unmatched_total 1'],
  ],
  [
    'a denial by a shadow policy',
    ({ decisions }) => decisions.wouldDeny({ ...EXEMPT, policy: 'a' }),
    undefined,
    ['decisions_total{policy="a",verdict="shadow_deny"} 1'],
  ],
  [
    'a misconfigured proxy',
    ({ proxies }) => proxies.misconfigured('nginx', ['x-real-ip']),
    { event: 'proxy_misconfigured', level: 40, dialect: 'nginx', missing: ['x-real-ip'] },
    ['misconfigured_requests_total{dialect="nginx"} 1'],
  ],
  [
    'an unseen header',
    ({ proxies }) => proxies.headerUnseen(UNSEEN, true),
    { event: 'header_unseen', level: 40, ...UNSEEN },
    ['header_unseen{dialect="nginx",header="x-api-key"} 1'],
  ],
  [
    'a header that has arrived',
    ({ proxies }) => proxies.headerArrived('nginx', 'x-api-key'),
    undefined,
    ['header_seen{dialect="nginx",header="x-api-key"} 1'],
  ],
  [
    'a header that was unseen',
    ({ proxies }) => proxies.headerSeen('nginx', 'x-api-key'),
    { event: 'header_seen', level: 30, dialect: 'nginx', header: 'x-api-key' },
    ['header_unseen{dialect="nginx",header="x-api-key"} 0'],
  ],
  [
    'an unknown policy with a long name',
    ({ proxies }) => proxies.policyUnknown('a'.repeat(100)),
    { event: 'policy_unknown', level: 40, policy: 'a'.repeat(64) },
    ['unknown_policy_total 1'],
  ],
  [
    'an untrusted proxy',
    ({ proxies }) => proxies.untrustedProxy(),
    { event: 'untrusted_proxy', level: 40 },
    ['untrusted_proxy_requests_total 1'],
  ],
  [
    'ignored headers',
    ({ proxies }) => proxies.headersIgnored(['forwarded', 'x-user']),
    undefined,
    ['untrusted_header_total{header="forwarded"} 1', 'untrusted_header_total{header="x-user"} 1'],
  ],
  [
    'a call without the proxy secret',
    ({ proxies }) => proxies.unauthorizedRefused(),
    { event: 'stranger_refused', level: 40 },
    ['strangers_refused_total 1'],
  ],
  [
    'a fault of a connection',
    ({ proxies }) => proxies.connectionFailed('grpc', REFUSED),
    { event: 'connection_failed', level: 50, port: 'grpc', err: ERR },
    ['connection_faults_total{port="grpc"} 1'],
  ],
  [
    'an open check port',
    ({ proxies }) => proxies.checkPortOpen(),
    { event: 'check_port_open', level: 40 },
    [],
  ],
  [
    'a failed round trip',
    ({ store }) => store.failed('timeout', new StoreError('timeout', 'no answer in time'), true),
    { event: 'store_failed', level: 50, reason: 'timeout', cause: 'no answer in time' },
    ['store_errors_total{reason="timeout"} 1'],
  ],
  [
    'a store that is given up',
    ({ store }) => store.givenUp(),
    undefined,
    ['store_given_up_total 1'],
  ],
  [
    'a failed connection',
    ({ store }) => store.connectionFailed(REFUSED),
    { event: 'store_connection_failed', level: 40, cause: 'ECONNREFUSED' },
    [],
  ],
  [
    'a start without the store',
    ({ store }) => store.startedUncounted({ allow: ['a'], local: ['b'], deny: ['c'] }),
    { event: 'started_uncounted', level: 50, allow: ['a'], local: ['b'], deny: ['c'] },
    [],
  ],
  ['a degraded store', ({ store }) => store.degraded(), undefined, ['degraded 1']],
  [
    'a store that has recovered',
    ({ store }) => store.recovered(),
    { event: 'store_recovered', level: 30 },
    ['degraded 0'],
  ],
  [
    'the script in use',
    ({ store }) => store.scriptInUse('abc'),
    undefined,
    ['script_info{sha="abc"} 1'],
  ],
  ['counted windows', ({ store }) => store.windowsCounted(7), undefined, ['active_windows 7']],
  [
    'salts that are not shared',
    ({ peers }) => peers.saltsNotShared(REFUSED),
    { event: 'salts_not_shared', level: 50, cause: 'ECONNREFUSED' },
    [],
  ],
  [
    'peers that are not heard',
    ({ peers }) => peers.othersUnheard('a text'),
    { event: 'others_unheard', level: 40, cause: 'unknown' },
    [],
  ],
  [
    'a lost heartbeat',
    ({ peers }) => peers.heartbeatLost(new Error('m'.repeat(200))),
    { event: 'heartbeat_lost', level: 40, cause: 'm'.repeat(80) },
    [],
  ],
  [
    'keys that were looked up',
    ({ keys }) => keys.lookedUp(3, 2),
    undefined,
    ['key_lookups_total{result="found"} 2', 'key_lookups_total{result="unknown"} 1'],
  ],
  [
    'keys that Redis did not look up in time',
    ({ keys }) => keys.lookUpsLate(2),
    { event: 'key_lookups_failed', level: 50, reason: 'timeout', cause: 'unknown' },
    ['key_lookups_total{result="late"} 2'],
  ],
  [
    'keys that could not be looked up',
    ({ keys }) =>
      keys.lookUpsFailed(new StoreError('noperm', 'Redis failed', { cause: NOPERM }), 2),
    { event: 'key_lookups_failed', level: 50, reason: 'noperm', cause: 'NOPERM no permissions' },
    ['key_lookups_total{result="failed"} 2'],
  ],
  [
    'an address that invents keys',
    ({ keys }) => keys.tooManyInvented('i.a'),
    { event: 'keys_invented', level: 40, client: 'i.a' },
    ['key_lookups_total{result="invented"} 1'],
  ],
  [
    'an unreadable record of a key, of whose digest no more is told than it takes to find it',
    ({ keys }) => keys.recordUnreadable(Buffer.alloc(32, 'key').toString('base64url')),
    { event: 'key_unreadable', level: 50, sha256: '6b65796b6579' },
    ['key_records_unreadable_total 1'],
  ],
  [
    'missed changes of keys',
    ({ keys }) => keys.changesMissed(),
    { event: 'key_changes_missed', level: 30 },
    ['key_changes_missed_total 1'],
  ],
  [
    'unread changes of keys',
    ({ keys }) => keys.changesUnread(NOPERM, false),
    { event: 'key_changes_unread', level: 50, cause: 'NOPERM no permissions' },
    ['key_changes_unread 1'],
  ],
  [
    'unread changes of keys in an outage, which has a line of its own',
    ({ keys }) => keys.changesUnread(REFUSED, true),
    undefined,
    ['key_changes_unread 1'],
  ],
  [
    'an action of an operator',
    ({ operators }) => operators.acted(ACTION),
    { event: 'operator_action', level: 40, ...ACTION },
    [],
  ],
  [
    'an operation that failed',
    ({ operators }) => operators.operationFailed(REFUSED),
    { event: 'operation_failed', level: 50, err: ERR },
    [],
  ],
  [
    'a call without the admin token',
    ({ operators }) => operators.refused(),
    { event: 'operator_refused', level: 40 },
    ['operators_refused_total 1'],
  ],
  [
    'unread overrides',
    ({ operators }) => operators.overridesUnread(REFUSED),
    { event: 'overrides_unread', level: 40, cause: 'ECONNREFUSED' },
    [],
  ],
  [
    'restored overrides',
    ({ operators }) => operators.overridesRestored(2),
    { event: 'overrides_restored', level: 40, overrides: 2 },
    [],
  ],
  [
    'the policies in force',
    ({ policyFile }) => policyFile.inForce('abc'),
    undefined,
    ['config_info{sha256="abc"} 1', `config_last_success_timestamp_seconds ${NOON_MS / 1000}`],
  ],
  [
    'reloaded policies',
    ({ policyFile }) => policyFile.loaded(3),
    { event: 'policies_loaded', level: 30, policies: 3 },
    ['policy_reloads_total{result="ok"} 1'],
  ],
  [
    'many removed policies',
    ({ policyFile }) => policyFile.removed(OVERFULL),
    { event: 'policies_removed', level: 40, policies: OVERFULL.slice(0, 20), more: 3 },
    [],
  ],
  [
    'a file with many mistakes',
    ({ policyFile }) => policyFile.refused(OVERFULL),
    { event: 'policies_refused', level: 50, mistakes: OVERFULL.slice(0, 20), more: 3 },
    ['policy_reloads_total{result="error"} 1', 'config_last_reload_successful 0'],
  ],
  [
    'a note on the policy file',
    ({ policyFile }) => policyFile.note('a note'),
    { event: 'policy_note', level: 40, msg: 'a note' },
    [],
  ],
  [
    'a lost worker',
    ({ workers }) => workers.lost(3, 'SIGKILL'),
    { event: 'worker_lost', level: 50, worker: 3, how: 'SIGKILL' },
    ['workers_lost_total 1'],
  ],
  ['lost log lines', ({ log }) => log.lost(3), undefined, ['log_lines_lost_total 3']],
  [
    'a log that can be written again',
    ({ log }) => log.restored(3, 'ENOSPC'),
    { event: 'log_lines_lost', level: 50, lines: 3, why: 'ENOSPC' },
    [],
  ],
  [
    'a worker that hangs',
    ({ workers }) => workers.unresponsive(3),
    { event: 'worker_unresponsive', level: 50, worker: 3 },
    ['workers_unresponsive_total 1'],
  ],
  [
    'a worker that hangs no more',
    ({ workers }) => workers.responding(3),
    { event: 'worker_responding', level: 30, worker: 3 },
    [],
  ],
  [
    'replaced workers',
    ({ workers }) => workers.replaced(2),
    { event: 'workers_replaced', level: 30, workers: 2 },
    [],
  ],
  [
    'workers that are not replaced',
    ({ workers }) => workers.kept('exit code 3'),
    { event: 'workers_kept', level: 50, why: 'exit code 3' },
    [],
  ],
  [
    'a stop by a signal',
    ({ lifecycle }) => lifecycle.stopping('SIGTERM'),
    { event: 'stopping', level: 30, signal: 'SIGTERM' },
    [],
  ],
  [
    'a crash',
    ({ lifecycle }) => lifecycle.crashed(REFUSED),
    { event: 'crashed', level: 60, err: ERR },
    [],
  ],
  [
    'a stop by force',
    ({ lifecycle }) => lifecycle.stoppedByForce('a second signal'),
    { event: 'stopped_by_force', level: 40, why: 'a second signal' },
    [],
  ],
];

test.each(ROWS)('%s is reported', async (_what, report, line, samples) => {
  const { telemetry, lines, metrics } = observedTelemetry();
  report(telemetry);
  expect(lines()).toMatchObject(line === undefined ? [] : [line]);
  expect(lines()).toHaveLength(line === undefined ? 0 : 1);
  const measured = await metrics('');
  for (const sample of samples) expect(measured).toContain(`headgate_${sample}`);
});

/** These would come with every request, or every few milliseconds. */
const REPEATED: readonly (readonly [string, (telemetry: Telemetry) => void])[] = [
  ['requests_shed', ({ decisions }) => decisions.requestShed()],
  ['proxy_misconfigured', ({ proxies }) => proxies.misconfigured('nginx', [])],
  ['policy_unknown', ({ proxies }) => proxies.policyUnknown('a')],
  ['untrusted_proxy', ({ proxies }) => proxies.untrustedProxy()],
  ['stranger_refused', ({ proxies }) => proxies.unauthorizedRefused()],
  ['store_failed', ({ store }) => store.failed('timeout', REFUSED, false)],
  ['store_connection_failed', ({ store }) => store.connectionFailed(REFUSED)],
  ['salts_not_shared', ({ peers }) => peers.saltsNotShared(REFUSED)],
  ['others_unheard', ({ peers }) => peers.othersUnheard(REFUSED)],
  ['heartbeat_lost', ({ peers }) => peers.heartbeatLost(REFUSED)],
  ['key_lookups_failed', ({ keys }) => keys.lookUpsLate(1)],
  ['keys_invented', ({ keys }) => keys.tooManyInvented('i.a')],
  ['key_unreadable', ({ keys }) => keys.recordUnreadable('q83vAAAA')],
  ['key_changes_missed', ({ keys }) => keys.changesMissed()],
  ['key_changes_unread', ({ keys }) => keys.changesUnread(REFUSED, false)],
  ['operator_refused', ({ operators }) => operators.refused()],
  ['overrides_unread', ({ operators }) => operators.overridesUnread(REFUSED)],
  ['overrides_restored', ({ operators }) => operators.overridesRestored(1)],
];

test('changes of keys that are read again end that they were unread', async () => {
  const { telemetry } = observedTelemetry();
  telemetry.keys.changesUnread(REFUSED, false);
  telemetry.keys.changesRead();
  const text = await telemetry.registry.getSingleMetricAsString('headgate_key_changes_unread');
  expect(text).toContain('\nheadgate_key_changes_unread 0');
});

test.each(REPEATED)('%s is logged once a minute, and hides no other event', (event, report) => {
  const { clock, events, telemetry } = observedTelemetry();
  for (const [, other] of REPEATED) if (other !== report) other(telemetry);
  const before = events().length;
  for (let i = 0; i <= 60; i++) {
    report(telemetry);
    clock.nowMs += 1_000;
  }
  expect(events().slice(before)).toEqual([event, event]);
});

test('each misconfigured dialect and each reason of a store failure has its own line', () => {
  const { events, telemetry } = observedTelemetry();
  for (const dialect of ['nginx', 'caddy']) telemetry.proxies.misconfigured(dialect, []);
  for (const reason of ['timeout', 'oom'] as const) {
    telemetry.store.failed(reason, REFUSED, false);
  }
  expect(events()).toEqual([
    'proxy_misconfigured',
    'proxy_misconfigured',
    'store_failed',
    'store_failed',
  ]);
});

test('a new store failure is logged even if the last one was a moment ago', () => {
  const { events, telemetry } = observedTelemetry();
  for (const isNew of [true, false, true]) {
    telemetry.store.failed('timeout', REFUSED, isNew);
  }
  expect(events()).toEqual(['store_failed', 'store_failed']);
});

test('the metric of overrides has those in force, and no earlier ones', async () => {
  const { metrics, telemetry } = observedTelemetry();
  telemetry.operators.overridesInForce(['blocked', 'off']);
  telemetry.operators.overridesInForce(['blocked', 'blocked']);
  expect(await metrics('overrides')).toEqual(['headgate_overrides{effect="blocked"} 2']);
});

test('another policy file ends a failed reload, and the doubts about headers', async () => {
  const { metrics, telemetry } = observedTelemetry();
  const reload = async () => (await metrics('config_last_reload'))[0]?.at(-1);
  expect(await reload()).toBe('1');
  telemetry.policyFile.inForce('abc');
  telemetry.policyFile.refused(['a mistake']);
  expect(await reload()).toBe('0');
  telemetry.proxies.headerUnseen(UNSEEN, false);
  telemetry.proxies.headerArrived('nginx', 'x-api-key');
  telemetry.policyFile.inForce('def');
  expect(await reload()).toBe('1');
  expect(await metrics('header_unseen')).toEqual([]);
  expect(await metrics('header_seen')).toEqual([]);
  expect(await metrics('config_info')).toEqual(['headgate_config_info{sha256="def"} 1']);
});

test('a proxy that another policy file does not trust either is logged again', () => {
  const { events, telemetry } = observedTelemetry();
  const check = () => telemetry.proxies.untrustedProxy();
  check();
  check();
  telemetry.policyFile.inForce('def');
  check();
  check();
  expect(events()).toEqual(['untrusted_proxy', 'untrusted_proxy']);
});

test('the versions of headgate and Node are a metric', async () => {
  const { metrics } = observedTelemetry();
  expect(await metrics('build_info')).toEqual([
    `headgate_build_info{version="1.2.3",node="${process.version}"} 1`,
  ]);
});

describe('a decision', () => {
  const policy = { name: 'a' } as Parameters<typeof unmeasured>[1];
  const enforced: Decision = { ...EXEMPT, reason: 'within_limits', policy: 'a' };
  const decisions: readonly (readonly [string, Decision, string, readonly string[]])[] = [
    ['that allows', enforced, 'allow', []],
    ['that denies', { ...enforced, verdict: 'deny', reason: 'over_limit' }, 'deny', []],
    ['for an exempt client', { ...EXEMPT, policy: 'a' }, 'exempt', []],
    [
      'for a blocked client',
      { ...EXEMPT, reason: 'blocked', verdict: 'deny', policy: 'a' },
      'blocked',
      [],
    ],
    ['that this process counted', { ...enforced, mode: 'local' }, 'local', ['local']],
    ['that nothing counted, and allows', unmeasured('open', policy), 'error_allow', ['open']],
    ['that nothing counted, and denies', unmeasured('closed', policy), 'error_deny', ['closed']],
  ];

  test.each(decisions)(
    '%s is counted with its verdict',
    async (_what, decision, verdict, modes) => {
      const { lines, metrics, telemetry } = observedTelemetry();
      telemetry.decisions.decided(decision, 'envoy', 2);
      telemetry.decisions.decided(decision, 'envoy', 2);
      expect(await metrics('decisions_total')).toEqual([
        `headgate_decisions_total{policy="a",verdict="${verdict}"} 2`,
      ]);
      const degraded = await metrics('degraded_decisions_total');
      expect(degraded.filter((sample) => !sample.endsWith(' 0'))).toEqual(
        modes.map((mode) => `headgate_degraded_decisions_total{mode="${mode}"} 2`),
      );
      expect(await metrics('decision_duration_seconds_sum')).toEqual([
        'headgate_decision_duration_seconds_sum 0.004',
      ]);
      expect(lines()).toEqual([]);
    },
  );

  test('that repeats another is counted apart', async () => {
    const { metrics, telemetry } = observedTelemetry();
    telemetry.decisions.decided({ ...enforced, isRepeated: true }, 'envoy', 1);
    expect(await metrics('repeated_checks_total')).toEqual(['headgate_repeated_checks_total 1']);
    expect(await metrics('decisions_total')).toEqual([]);
    expect(await metrics('decision_duration_seconds_count')).toEqual([
      'headgate_decision_duration_seconds_count 0',
    ]);
  });
});

describe('logging', () => {
  const binding = {
    key: 'hg:v1:{i.a}:login:client.1',
    limit: { label: 'login' },
    state: { remaining: 3 },
  } as Decision['binding'];
  const allowed: Decision = { ...EXEMPT, reason: 'within_limits', policy: 'login', binding };

  test('of allowed requests is off, and samples one in so many while an operator wants it', () => {
    const { lines, telemetry } = observedTelemetry();
    const allow = (times: number) => {
      for (let i = 0; i < times; i++) telemetry.decisions.decided(allowed, 'nginx', 1.23456789);
    };
    allow(10);
    expect(lines()).toEqual([]);
    telemetry.setLogging({ allowsOneIn: 4 });
    telemetry.decisions.decided({ ...allowed, verdict: 'deny' }, 'nginx', 1);
    allow(8);
    expect(lines()).toHaveLength(2);
    expect(lines()[0]).toMatchObject({
      event: 'allowed',
      level: 30,
      policy: 'login',
      limit: 'login',
      reason: 'within_limits',
      mode: 'enforced',
      counted: 'i.a',
      remaining: 3,
      dialect: 'nginx',
      duration_ms: 1.235,
      one_in: 4,
    });
    telemetry.setLogging({});
    allow(10);
    expect(lines()).toHaveLength(2);
  });

  test('has the level of the override, and then that of the settings again', () => {
    const { events, telemetry } = observedTelemetry({ level: 'warn' });
    telemetry.workers.replaced(2);
    telemetry.setLogging({ level: 'info' });
    telemetry.workers.replaced(2);
    telemetry.setLogging({ level: 'error' });
    telemetry.workers.lost(1, 'SIGKILL');
    telemetry.proxies.checkPortOpen();
    telemetry.operators.acted(ACTION);
    telemetry.setLogging({});
    telemetry.workers.replaced(2);
    telemetry.proxies.checkPortOpen();
    expect(events()).toEqual([
      'workers_replaced',
      'worker_lost',
      'operator_action',
      'check_port_open',
    ]);
  });

  test('says which worker it is, also in the audit log', () => {
    const { lines, telemetry } = observedTelemetry({ worker: 2 });
    telemetry.operators.acted(ACTION);
    telemetry.proxies.checkPortOpen();
    expect(lines().map(({ worker }) => worker)).toEqual([2, 2]);
    const alone = observedTelemetry();
    alone.telemetry.proxies.checkPortOpen();
    expect(Object.keys(alone.lines()[0] ?? {})).toEqual(['level', 'time', 'event', 'msg']);
  });
});
