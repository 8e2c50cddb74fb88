/**
 * Do suggested limits stop attacks and leave people alone, compared with 100/1min, p99, and mean + 3 sigma?
 *
 * Limits are fitted to the first days of a synthetic log, which contain attacks as real logs do, and judged on the days
 * after them, request by request, by the code that decides in a gateway. Two more columns have limits from the same log
 * without attacks, and with attacks whose requests are as irregular as those of people.
 */
import { createLogRequests } from '../src/cli/evidence/log-request.ts';
import { findPathRoutes } from '../src/cli/evidence/suggest/path-routes.ts';
import { eachDayPeak } from '../src/cli/evidence/suggest/peaks.ts';
import { draftPolicyFile } from '../src/cli/evidence/suggest/policy-file.ts';
import { suggest } from '../src/cli/evidence/suggest/suggest.ts';
import { type Traffic, trafficIn } from '../src/cli/evidence/suggest/traffic.ts';
import { type Recorded, TrafficLog } from '../src/cli/evidence/suggest/traffic-log.ts';
import { dayOf } from '../src/cli/evidence/suggest/windows.ts';
import { enforcedFile, judge, type Verdicts, verdictsOf } from '../test/support/judged-log.ts';
import { policySetFrom } from '../test/support/policies.ts';
import type { Random } from '../test/support/random.ts';
import {
  type Attack,
  DAY_MS,
  type SyntheticRequest,
  syntheticLog,
} from '../test/support/synthetic-log.ts';
import { median, printTable } from '../tools/table.ts';

const SEEDS = [1, 2, 3];
const FITTED_DAYS = 4;
const DAYS = 6;
const START_MS = Date.UTC(2026, 0, 5);
const FIRST_JUDGED_DAY = dayOf(START_MS) + FITTED_DAYS;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const NO_POLICIES = 'version: 1\ndefault: { limits: [1000/1h] }';

const login = { method: 'POST', target: () => '/api/login', status: 401 };
const scrape = {
  method: 'GET',
  target: (random: Random) => `/items/${random.below(50_000)}`,
  status: 200,
};
const search = { method: 'GET', target: () => '/api/search?q=a', status: 200 };

/** In the days that limits are fitted to. */
const KNOWN_ATTACKS: readonly Attack[] = [
  {
    ...{ name: 'earlier stuffing', day: 1, atMs: 3 * HOUR_MS, forMs: HOUR_MS },
    ...{ requestsPerSecond: 1, addresses: 100, network: 60, ...login },
  },
  {
    ...{ name: 'earlier scraper', day: 2, atMs: 5 * HOUR_MS, forMs: 2 * HOUR_MS },
    ...{ requestsPerSecond: 2, addresses: 2, network: 61, ...scrape },
  },
];

const STUFFING = [0.1, 1, 20].flatMap((rate) => [1, 30, 1_000].map((size) => ({ rate, size })));

function judgedAttacks(humanP99: number): Attack[] {
  const stuffing = STUFFING.map(({ rate, size }, i) => ({
    ...{ name: `stuffing, ${rate}/s, ${addressesText(size)}`, day: 4 + (i % 2) },
    ...{ atMs: (2 + 2 * i) * HOUR_MS, forMs: HOUR_MS, requestsPerSecond: rate, addresses: size },
    ...{ network: 70 + i, ...login },
  }));
  return [
    ...stuffing,
    {
      ...{ name: 'scraper at the p99 of people', day: 4, atMs: HOUR_MS, forMs: 12 * HOUR_MS },
      ...{ requestsPerSecond: humanP99 / 60, addresses: 1, network: 90, ...scrape },
    },
    {
      ...{ name: 'scraper, 1/s, 1 address', day: 5, atMs: 5 * HOUR_MS, forMs: HOUR_MS },
      ...{ requestsPerSecond: 1, addresses: 1, network: 92, isIrregular: true, ...scrape },
    },
    {
      ...{ name: 'bursts at boundaries of minutes', day: 5, atMs: HOUR_MS, forMs: HOUR_MS },
      ...{ requestsPerSecond: 200 / 240, burst: 200, addresses: 1, network: 91, ...search },
    },
  ];
}

function addressesText(count: number): string {
  return count === 1 ? '1 address' : `${count} addresses`;
}

function logOf(seed: number, attacks: readonly Attack[]): Generator<SyntheticRequest> {
  return syntheticLog({
    ...{ seed, startMs: START_MS, days: DAYS, people: 1_200, offices: 12, crawlers: 4 },
    ...{ monitors: 2, attacks },
  });
}

/** Of people, in requests for a page per minute. */
function p99OfPeople(seed: number): number {
  const byAddress = new Map<string, number[]>();
  for (const { actor, entry } of logOf(seed, [])) {
    if (actor !== 'person' || !entry.target.startsWith('/items')) continue;
    const { address = '' } = entry;
    const times = byAddress.get(address) ?? [];
    times.push(entry.startMs);
    byAddress.set(address, times);
  }
  const peaks: number[] = [];
  for (const times of byAddress.values()) {
    eachDayPeak(Float64Array.from(times), MINUTE_MS, (_, peak) => peaks.push(peak));
  }
  return quantile(peaks, 0.99);
}

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(q * values.length) - 1] ?? 0;
}

/** Policy files by the name of the method that chose their limits. */
function fitted(recorded: Recorded): ReadonlyMap<string, string> {
  const options = {
    ...{ holdoutMs: (DAYS - FITTED_DAYS) * DAY_MS, capacity: undefined, precisionMs: 1 },
  };
  const suggestions = suggest(recorded, options);
  const draft = draftPolicyFile(suggestions.routes, undefined).replaceAll(
    'mode: shadow',
    'mode: enforce',
  );
  const toMs = START_MS + FITTED_DAYS * DAY_MS;
  const peaks = peaksByRoute(trafficIn(recorded, { fromMs: START_MS, toMs }));
  return new Map([
    ['100/1min', withLimits(draft, () => 100)],
    ['p99', withLimits(draft, (name) => quantile(peaks.get(name) ?? [], 0.99))],
    ['mean + 3 sigma', withLimits(draft, (name) => threeSigma(peaks.get(name) ?? []))],
    ['suggested', enforcedFile(suggestions)],
  ]);
}

/** Of client-days of all clients, per minute. */
function peaksByRoute({ routes, byRoute }: Traffic): ReadonlyMap<string, number[]> {
  return new Map(
    routes.routes.map(({ name }, i) => {
      const peaks: number[] = [];
      byRoute[i]?.eachClient((_, timesMs) =>
        eachDayPeak(timesMs, MINUTE_MS, (__, peak) => peaks.push(peak)),
      );
      return [name, peaks];
    }),
  );
}

function threeSigma(values: readonly number[]): number {
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const squares = values.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return Math.ceil(mean + 3 * Math.sqrt(squares / values.length));
}

/** The draft with another limit per minute in each policy. */
function withLimits(draft: string, limitOf: (name: string) => number): string {
  let name = '';
  const lines = draft.split('\n').map((line) => {
    name = /- name: (.*)/.exec(line)?.[1] ?? name;
    return name === '' ? line : line.replace('[1000/1h]', `[${limitOf(name) || 1}/1min]`);
  });
  return lines.join('\n');
}

/** For each seed, the verdicts by method and actor. */
function runSeed(seed: number): ReadonlyMap<string, Map<string, Verdicts>> {
  const later = judgedAttacks(p99OfPeople(seed));
  const { files, judged } = fittedLog(seed, [...KNOWN_ATTACKS, ...later]);
  const irregular = KNOWN_ATTACKS.map((attack) => ({ ...attack, isIrregular: true }));
  const disguised = fittedLog(seed, [...irregular, ...later]).files.get('suggested') ?? '';
  const clean = fittedLog(seed, later).files.get('suggested') ?? '';
  const all = [...files, ['from a clean log', clean], ['from disguised bots', disguised]] as const;
  return new Map(all.map(([method, file]) => [method, judge(file, judged)]));
}

function fittedLog(seed: number, attacks: readonly Attack[]) {
  const none = policySetFrom(NO_POLICIES);
  const requestOf = createLogRequests(none, []);
  const log = new TrafficLog({ policies: none, requestOf, routes: findPathRoutes() });
  const judged: SyntheticRequest[] = [];
  for (const request of logOf(seed, attacks)) {
    log.add(request.entry);
    if (dayOf(request.entry.startMs) >= FIRST_JUDGED_DAY) judged.push(request);
  }
  return { files: fitted(log.recorded()), judged };
}

const runs = SEEDS.map(runSeed);
const methods = [...(runs[0]?.keys() ?? [])];
const verdicts = (method: string, actor: string) =>
  runs.map((run) => verdictsOf(actor, run.get(method) ?? new Map()));

function attackCell(method: string, actor: string): string {
  const found = verdicts(method, actor);
  const recall = median(found.map(({ denied, requests }) => (100 * denied) / requests));
  const first = median(
    found.map(
      ({ firstMs = 0, firstDeniedMs = Number.POSITIVE_INFINITY }) => firstDeniedMs - firstMs,
    ),
  );
  if (!Number.isFinite(first)) return '0 %';
  return `${recall.toFixed(recall < 10 ? 1 : 0)} % after ${durationText(first)}`;
}

function durationText(ms: number): string {
  const seconds = ms / 1_000;
  return seconds < 100 ? `${seconds.toFixed(0)} s` : `${(seconds / 60).toFixed(0)} min`;
}

function daysCell(method: string, actor: string): string {
  const found = verdicts(method, actor);
  const denied = found.reduce((sum, { deniedDays }) => sum + deniedDays.size, 0);
  const days = found.reduce((sum, { clientDays }) => sum + clientDays.size, 0);
  return `${((100 * denied) / days).toFixed(2)} % (${denied})`;
}

const rowOf = (title: string, cellOf: (method: string) => string) => ({
  'sent or counted': title,
  ...Object.fromEntries(methods.map((method) => [method, cellOf(method)])),
});

printTable([
  ...judgedAttacks(1).map(({ name }) => rowOf(name, (method) => attackCell(method, name))),
  rowOf('days of people with a denial', (method) => daysCell(method, 'person')),
  rowOf('days of offices with a denial', (method) => daysCell(method, 'office')),
  rowOf('days of crawlers with a denial', (method) => daysCell(method, 'crawler')),
]);
