/** A made-up result of a replay, of any size: the same one every time. */
import type { MinutePoint, ReplayCharts } from '../../src/cli/evidence/replay/charts.ts';
import type {
  LimitReport,
  PolicyReport,
  ReplayReport,
} from '../../src/cli/evidence/replay/report.ts';
import { Random } from './random.ts';

export interface ReplaySample {
  readonly report: ReplayReport;
  readonly charts: ReplayCharts;
}

export interface SampleOptions {
  readonly policies: readonly string[];
  readonly minutes: number;
  /** How clients are called, by number. */
  readonly clientName?: (number: number) => string;
  readonly hasDifference?: boolean;
}

const SAMPLE_START_MS = Date.UTC(2026, 0, 5, 6);
const MINUTE_MS = 60_000;
const LIMITS = [5, 100, 1_200];

export function sampleReplay(options: SampleOptions): ReplaySample {
  const { policies: names, minutes, clientName = (n) => `client ${n}` } = options;
  const random = new Random(42);
  const charts = names.map((name, i) => ({ name, minutes: minutesOf(i, minutes, random) }));
  const limits = names.map((name, i) => limitChart(name, LIMITS[i % LIMITS.length] ?? 5, random));
  const policies = charts.map((chart, i) => policyReport(chart, limits[i]?.allows ?? ''));
  const total = (key: 'requests' | 'denied_requests') =>
    policies.reduce((sum, each) => sum + (each[key] ?? 0), 0);
  const toMs = SAMPLE_START_MS + minutes * MINUTE_MS;
  const clients = Array.from({ length: 31 }, (_, i) => ({
    client: clientName(i + 1),
    requests: 4_000 - 100 * i,
    denied_requests: Math.round(3_000 / (i + 1)),
  }));
  const report: ReplayReport = {
    log: {
      sources: ['access.log.1', 'access.log'],
      format: 'NGINX combined',
      from: new Date(SAMPLE_START_MS).toISOString(),
      to: new Date(toMs).toISOString(),
    },
    lines: {
      read: total('requests') + 14,
      understood: total('requests') + 12,
      not_understood: 2,
      first_not_understood: [
        { source: 'access.log', line: 812, field: 'request', text: '192.0.2.7 - - [05/Jan/2026' },
        {
          source: 'access.log',
          line: 9_001,
          field: 'time',
          text: '192.0.2.9 - - [yesterday] "GET /',
        },
      ],
      late: 5,
      without_request: 0,
      out_of_order: 1_204,
    },
    requests: {
      decided: total('requests'),
      denied: total('denied_requests'),
      clients: 50_000,
      denied_clients: clients.length,
      denied_with_shadow: total('denied_requests'),
      denied_clients_with_shadow: clients.length,
      without_address: 7,
      logged_429: 312,
      reasons: {
        limit: total('denied_requests'),
        within_limits: total('requests') - total('denied_requests'),
      },
    },
    policies,
    refused: policies.slice(0, 1).map(refusalOf),
    clients,
    ...(options.hasDifference && { difference: difference(names, clients) }),
    notes: [
      '312 requests were answered 429 when they were logged. They were replayed like all others, as clients sent them.',
      'A replay cannot show how clients react to a denial: they may retry, wait or give up.',
    ],
  };
  return { report, charts: { policies: charts, limits } };
}

/** A busy day, a quiet night, and every seventh hour an attack that every other policy denies in part. */
function minutesOf(policy: number, minutes: number, random: Random): MinutePoint[] {
  const points: MinutePoint[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const ofDay = 1 + Math.sin((minute / 1_440) * 2 * Math.PI);
    const isAttack = policy % 2 === 0 && minute % 420 > 300 && minute % 420 < 320;
    const usual = Math.floor((ofDay * 90 * (0.7 + 0.6 * random.next())) / (1 + policy));
    const attack = isAttack ? Math.floor(120 + 60 * random.next()) : 0;
    if (usual + attack === 0) continue;
    const atMs = SAMPLE_START_MS + minute * MINUTE_MS;
    points.push([atMs, usual + attack, Math.floor(attack * 0.8)]);
  }
  return points;
}

function limitChart(policy: string, limit: number, random: Random) {
  const peaks = new Map<number, number>();
  for (let client = 0; client < 3_000; client++) {
    const peak = Math.max(
      1,
      Math.round(((limit / 4) * random.next() ** 3) / (0.02 + random.next() ** 2)),
    );
    peaks.set(peak, (peaks.get(peak) ?? 0) + 1);
  }
  return {
    label: policy,
    allows: `${limit.toLocaleString('en-US')} requests per minute`,
    limit,
    peaks: [...peaks].sort(([a], [b]) => a - b),
  };
}

function policyReport(
  { name, minutes }: ReplayCharts['policies'][number],
  allows: string,
): PolicyReport {
  const denials = minutes.filter(([, , denied]) => denied > 0);
  const timeOf = (point: MinutePoint | undefined) =>
    point === undefined ? null : new Date(point[0]).toISOString();
  const busiest = minutes.toSorted((a, b) => b[1] - a[1])[0];
  const sum = (points: readonly MinutePoint[], index: 1 | 2) =>
    points.reduce((total, point) => total + point[index], 0);
  const counts: Omit<LimitReport, 'label' | 'allows'> = {
    requests: sum(minutes, 1),
    clients: 3_000,
    denied_requests: sum(minutes, 2),
    denied_clients: denials.length === 0 ? 0 : 31,
    first_denial: timeOf(denials[0]),
    last_denial: timeOf(denials.at(-1)),
    busiest_minute:
      busiest === undefined
        ? null
        : { at: timeOf(busiest) ?? '', requests: busiest[1], denied_requests: busiest[2] },
  };
  const unknown = {
    ...counts,
    label: `${name}:ip:1d`,
    plan: 'gold',
    allows: '1,000 requests per day',
    denied_requests: null,
    denied_clients: null,
    not_evaluated: 'the log does not say which user sent a request',
  };
  const limits = [{ ...counts, label: name, allows }, unknown];
  return { name, mode: 'enforce', ...counts, limits };
}

function refusalOf({ name: _, mode: __, limits: ___, ...counts }: PolicyReport) {
  return { reason: 'malformed_path', ...counts };
}

function difference(
  [policy = '']: readonly string[],
  clients: ReplayReport['clients'],
): NonNullable<ReplayReport['difference']> {
  const changed = clients.map(({ client, requests }, i) => ({
    client,
    requests,
    changed_requests: 400 - 10 * i,
  }));
  const requests = changed.reduce((sum, each) => sum + each.changed_requests, 0);
  return {
    newly_denied_requests: requests,
    newly_denied_clients: changed.length,
    newly_allowed_requests: 0,
    newly_allowed_clients: 0,
    newly_denied: [{ policy, requests, clients: changed.length }],
    newly_allowed: [],
    clients_newly_denied: changed,
    clients_newly_allowed: [],
  };
}
