/**
 * The model of docs/sizing.md: prints its tables, from figures of bench/README.md. `node tools/sizing.ts`
 * A model, not a measurement: it multiplies what one decision costs.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const BENCH = readFileSync(new URL('../bench/README.md', import.meta.url), 'utf8');

/** The median in a cell of bench/README.md: of the first table of the file with this row and column. */
export function figure(file: string, row: string, column: string): number {
  const section = BENCH.slice(BENCH.indexOf(`(\`${file}\`)`)).split('\n### ')[0] ?? '';
  const lines = section.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  let header: readonly string[] = [];
  for (const [i, cells] of lines.entries()) {
    if (lines[i + 1]?.[1]?.startsWith('---')) header = cells;
    const value = Number.parseFloat(cells[1] === row ? (cells[header.indexOf(column)] ?? '') : '');
    if (!Number.isNaN(value)) return value;
  }
  throw new Error(`bench/README.md: ${file}, ${row}, ${column}`);
}

interface Cost {
  readonly name: string;
  /** Microseconds of CPU per decision. */
  readonly gateway: number;
  readonly redis: number;
  readonly source: string;
}

const ENVOY = 'HTTP: headgate, Redis';
const NGINX = 'NGINX: headgate, Redis';
const MANY = '2 workers, 64 connections each';
const service = 'CPU us/request';
const redis = 'Redis CPU us/request';

const few: Cost = {
  name: 'few at a time',
  gateway: figure('through-proxies.ts', ENVOY, service),
  redis: figure('through-proxies.ts', ENVOY, redis),
  source: 'behind Envoy, 3,500 requests/s (`through-proxies.ts`)',
};
const some: Cost = {
  name: 'some at a time',
  gateway: figure('through-proxies.ts', NGINX, service),
  redis: figure('through-proxies.ts', NGINX, redis),
  source: 'behind NGINX, 8,000 requests/s (`through-proxies.ts`)',
};
const many: Cost = {
  name: 'many at a time',
  gateway: figure('workers.ts', MANY, 'CPU us/request'),
  redis: figure('workers.ts', MANY, redis),
  source: 'two workers with 64 connections each (`workers.ts`)',
};
/** In a cluster hardly any requests share a call, because each client has its own slot. */
const cluster: Cost = {
  name: 'cluster',
  gateway: some.gateway,
  redis: figure('batch-size.ts', '1', 'Redis CPU us/decision'),
  source:
    'Redis: a call with one descriptor (`batch-size.ts`). Gateway: assumed as in the row above',
};
export const COSTS = [few, some, many, cluster] as const;

/** The share of a core that is busy at the planned rate: the rest is for peaks, failures and slower machines. */
const BUSY = 0.5;
/** Every client sends this many requests in a window of a minute. */
const REQUESTS_PER_CLIENT = 20;
const WINDOW_S = 60;
const BYTES_PER_KEY = 200;
const BYTES_PER_REQUEST = 6;

interface Plan {
  readonly perSecond: number;
  readonly cost: Cost;
  /** Independent Redis servers, each with its own gateways. */
  readonly splits: boolean;
}

const PLANS: readonly Plan[] = [
  { perSecond: 1_000, cost: few, splits: false },
  { perSecond: 10_000, cost: some, splits: false },
  { perSecond: 100_000, cost: many, splits: true },
  { perSecond: 100_000, cost: cluster, splits: false },
  { perSecond: 1_000_000, cost: many, splits: true },
  { perSecond: 1_000_000, cost: cluster, splits: false },
];

const cores = (perSecond: number, micros: number) => (perSecond * micros) / 1_000_000 / BUSY;

function redisSetUp({ perSecond, cost, splits }: Plan): string {
  const servers = Math.ceil(cores(perSecond, cost.redis));
  if (servers === 1) return '1 server';
  return splits
    ? `${servers} servers, each with its own gateways`
    : `a cluster of ${servers} masters`;
}

function redisMib(perSecond: number): string {
  const requests = perSecond * WINDOW_S;
  const keys = requests / REQUESTS_PER_CLIENT;
  const mib = (keys * BYTES_PER_KEY + requests * BYTES_PER_REQUEST) / 2 ** 20;
  return `${Math.ceil(mib).toLocaleString('en')} MiB`;
}

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

export function costTable(): string {
  return [
    line(['cost', 'gateway, us/decision', 'Redis, us/decision', 'measured']),
    line(['---', '---:', '---:', '---']),
    ...COSTS.map((cost) =>
      line([cost.name, String(cost.gateway), String(cost.redis), cost.source]),
    ),
  ].join('\n');
}

export function planTable(): string {
  return [
    line(['requests/s', 'cost', 'gateway cores', 'Redis', 'Redis cores', 'memory of counters']),
    line(['---:', '---', '---:', '---', '---:', '---:']),
    ...PLANS.map((plan) =>
      line([
        plan.perSecond.toLocaleString('en'),
        plan.cost.name,
        String(Math.ceil(cores(plan.perSecond, plan.cost.gateway))),
        redisSetUp(plan),
        cores(plan.perSecond, plan.cost.redis).toFixed(1),
        redisMib(plan.perSecond),
      ]),
    ),
  ].join('\n');
}

/** Decisions/s that one Redis server takes while it is busy for BUSY of its time. */
export function perRedis(cost: Cost): number {
  return Math.floor((BUSY * 1_000_000) / cost.redis / 100) * 100;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(`${costTable()}\n\n${planTable()}\n`);
  for (const cost of COSTS)
    console.log(`${cost.name}: ${perRedis(cost)} decisions/s per Redis server`);
}
