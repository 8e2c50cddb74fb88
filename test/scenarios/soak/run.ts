/**
 * The experiment behind the promise that a gateway can run for months: clients that come and go by the hundred a second,
 * on one Redis, with reloads and scrapes, while everything that could grow is looked at. Linux only.
 */
import { hash } from 'node:crypto';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import {
  headerOf,
  type LoadRequest,
  type Outcome,
  startLoad,
} from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { residentBytes } from '../../support/resident-memory.ts';

export interface SoakOptions {
  /** A Redis that nobody else uses. */
  readonly redisUrl: string;
  /** What is seen in it is not held against anything. */
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly perSecond: number;
  readonly sampleEveryMs: number;
  readonly reloadEveryMs: number;
  /** Listed keys that nobody uses. A long file is read in a thread, whose memory comes and goes. */
  readonly otherKeys: number;
  /** Of the gateway's heap. In a small one garbage does not stay for long, so what does stay shows sooner. */
  readonly heapMiB?: number;
}

/** All that could grow, at one moment. */
export interface Sample {
  /** Since the load began. */
  readonly atMs: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly files: number;
  readonly sockets: number;
  readonly redisKeys: number;
  /** Those without an expiry. */
  readonly redisKeysForEver: number;
  readonly redisBytes: number;
  /** Series of the gateway's own metrics. */
  readonly series: number;
  /** Distinct clients that have come so far. */
  readonly clients: number;
}

export interface SoakRun {
  /** Since the warm-up. */
  readonly samples: readonly Sample[];
  readonly requests: number;
  readonly clients: number;
  readonly allowed: number;
  readonly denied: number;
  /** Decisions that Redis did not take part in. */
  readonly unenforced: number;
  readonly rememberedDenials: number;
  /** Everything but 200 and 429, described; the first of them. */
  readonly failed: readonly string[];
  readonly failures: number;
  /** Files that were written, and those that the gateway says it read. */
  readonly reloads: number;
  readonly reloadsCounted: number;
  /** What the gateway had open before the load began. */
  readonly filesAtRest: number;
  /** What Redis held then, and when everything that was counted is over. */
  readonly keysBefore: number;
  readonly keysAfter: number;
}

const WINDOW_SECONDS = 5;
const LIMIT = 5;
const LISTED_KEYS = 40;
/** Few, so that their places are all taken in a warm-up: what fills up is not what leaks. */
const REMEMBERED_DENIALS = 100;
export const CONNECTIONS = 64;
const DESCRIBED_FAILURES = 5;
/** A sliding window counter keeps its keys for two windows; Redis clears them away ten times a second. */
const DRAINED_WITHIN_MS = 30_000;

export async function runSoak(options: SoakOptions): Promise<SoakRun> {
  await using cleanUp = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-soak-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const policies = join(folder, 'policies.yaml');
  writeFileSync(join(folder, 'keys.yaml'), keyFile(options.otherKeys));
  writeFileSync(policies, policyFile(0));
  const gateway = cleanUp.use(
    await startGatewayProcess({
      HEADGATE_REDIS_URL: options.redisUrl,
      HEADGATE_POLICIES: policies,
      HEADGATE_REMEMBERED_DENIALS: String(REMEMBERED_DENIALS),
      // On a busy machine a slow answer is not what this is about.
      HEADGATE_STORE_TIMEOUT_MS: '5000',
      ...(options.heapMiB !== undefined && {
        NODE_OPTIONS: `--max-old-space-size=${options.heapMiB} --max-semi-space-size=4`,
      }),
    }),
  );
  const redis = new Redis(options.redisUrl);
  cleanUp.defer(() => redis.disconnect());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  cleanUp.defer(() => agent.destroy());
  const scrape = async () => {
    const answer = call(gateway.opsUrl, '/metrics', { agent });
    // One that leaks too much ends before anybody can judge it.
    const { body } = await answer.catch((cause: unknown) => {
      throw new Error(`the gateway cannot be asked:\n${gateway.output()}`, { cause });
    });
    return body;
  };

  await scrape();
  const filesAtRest = openFiles(gateway.pid).length;
  const keysBefore = await redis.dbsize();
  const tally = new Tally();
  const startMs = performance.now();
  const load = startLoad({
    url: gateway.url,
    perSecond: options.perSecond,
    request: requestOf,
    onOutcome: (outcome) => tally.add(outcome),
    maxConnections: CONNECTIONS,
  });
  cleanUp.defer(() => load.stop());
  const endMs = startMs + options.warmUpMs + options.measuredMs;
  const look = async (): Promise<Sample> => ({
    atMs: performance.now() - startMs,
    clients: clientsAmong(load.count),
    ...(await lookAt(gateway, redis, scrape)),
  });
  const [samples, reloads] = await Promise.all([
    sampleUntil(endMs, options.sampleEveryMs, look),
    reloadUntil(endMs, options.reloadEveryMs, (version) =>
      writeFileSync(policies, policyFile(version)),
    ),
  ]);
  const requests = load.count;
  await load.stop();
  const metrics = await scrape();
  const keysAfter = await drained(redis, keysBefore);
  return {
    samples: samples.filter(({ atMs }) => atMs >= options.warmUpMs),
    requests,
    clients: clientsAmong(requests),
    ...tally.sums(),
    rememberedDenials: valueOfSeries(metrics, 'headgate_remembered_denials_total'),
    reloads,
    reloadsCounted: valueOfSeries(metrics, 'headgate_policy_reloads_total{result="ok"}'),
    filesAtRest,
    keysBefore,
    keysAfter,
  };
}

/** Short windows, so that keys come and go; every algorithm; and counts in the memory of the gateway as well. */
function policyFile(version: number): string {
  return `# version ${version}
version: 1
identity:
  sources: [api_key, ip]
  api_key: { keys: keys.yaml }
  ip: { ipv6_prefixes: { 64: 1x, 48: 4x } }
on_store_failure: local
default:
  limits: [${LIMIT}/${WINDOW_SECONDS}s]
  plans: { pro: [${40 * LIMIT}/${WINDOW_SECONDS}s] }
policies:
  - name: counted
    match: { path: /counted }
    limits: [{ rate: 50/${WINDOW_SECONDS}s, algorithm: sliding-window-counter }]
  - name: smoothed
    match: { path: /smoothed }
    limits: [{ rate: 50/${WINDOW_SECONDS}s, algorithm: token-bucket, burst: 20 }]
  - name: everything
    always: true
    limits: [{ rate: 100000/1s, per: global, algorithm: sliding-window-counter }]
`;
}

function keyFile(others: number): string {
  const key = (name: string) => `- { id: ${name}, sha256: ${hash('sha256', name)}, plan: pro }\n`;
  const listed = Array.from({ length: LISTED_KEYS }, (_, i) => key(`listed-${i}`));
  const other = Array.from({ length: others }, (_, i) => key(`other-${i}`));
  return [...listed, ...other].join('');
}

/** One request in ten is of a client that hammers. */
const HAMMERED_EVERY = 10;
/** Ten at a time, twenty requests each: most of them are denied. */
const HAMMERERS_AT_ONCE = 10;
const REQUESTS_OF_HAMMERERS = 200;
/** Of eight visits five are first ones, three are repeated later. */
const VISITS = 8;
const NEW_VISITORS = 5;
const BACK_AFTER_GROUPS = 100;

function requestOf(i: number): LoadRequest {
  const hammered = Math.floor(i / HAMMERED_EVERY);
  return i % HAMMERED_EVERY === 0 ? hammering(hammered) : visit(i - hammered - 1);
}

function clientsAmong(requests: number): number {
  const hammered = Math.ceil(requests / HAMMERED_EVERY);
  const hammerers = Math.ceil(hammered / REQUESTS_OF_HAMMERERS) * HAMMERERS_AT_ONCE;
  return hammerers + Math.ceil((requests - hammered) / VISITS) * NEW_VISITORS;
}

function hammering(i: number): LoadRequest {
  const hammerer =
    Math.floor(i / REQUESTS_OF_HAMMERERS) * HAMMERERS_AT_ONCE + (i % HAMMERERS_AT_ONCE);
  const address = `11.${ipv4Tail(hammerer)}`;
  const isKeyed = hammerer % 2 === 0;
  return {
    path: '/envoy/hammered',
    headers: isKeyed ? from(address, `hammerer-${hammerer}`) : from(address),
  };
}

function visit(i: number): LoadRequest {
  const group = Math.floor(i / VISITS);
  const place = i % VISITS;
  const isNew = place < NEW_VISITORS;
  const visitor = isNew
    ? group * NEW_VISITORS + place
    : Math.max(0, group - BACK_AFTER_GROUPS) * NEW_VISITORS + place - NEW_VISITORS;
  const path = ['/envoy/', '/envoy/counted', '/envoy/smoothed'][visitor % 3] as string;
  return { path, headers: headersOf(visitor) };
}

/** Addresses of both families, invented keys from addresses of their own and from shared ones, and listed keys. */
function headersOf(visitor: number): Record<string, string> {
  const own = `10.${ipv4Tail(visitor)}`;
  const kinds = [
    () => from(own),
    () => from(`2a00:${hex(visitor & 0xffff)}:${hex(visitor >>> 16)}::1`),
    () => from(own, `invented-${visitor}`),
    () => from(`12.${ipv4Tail(Math.floor(visitor / 20))}`, `invented-${visitor}`),
    () => from(own, `listed-${Math.floor(visitor / 5) % LISTED_KEYS}`),
  ];
  return (kinds[visitor % kinds.length] as (typeof kinds)[number])();
}

function from(address: string, key?: string): Record<string, string> {
  const addresses = { 'x-headgate-peer-ip': address, 'x-headgate-client-ip': address };
  return key === undefined ? addresses : { ...addresses, 'x-api-key': key };
}

function ipv4Tail(number: number): string {
  return `${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

function hex(number: number): string {
  return number.toString(16);
}

class Tally {
  #allowed = 0;
  #denied = 0;
  #unenforced = 0;
  #failures = 0;
  readonly #failed: string[] = [];

  add(outcome: Outcome): void {
    const { status, error } = outcome;
    if (status === 200) this.#allowed++;
    else if (status === 429) this.#denied++;
    else {
      this.#failures++;
      if (this.#failed.length < DESCRIBED_FAILURES) this.#failed.push(error ?? `status ${status}`);
    }
    if (headerOf(outcome, 'x-ratelimit-mode') !== undefined) this.#unenforced++;
  }

  sums() {
    return {
      allowed: this.#allowed,
      denied: this.#denied,
      unenforced: this.#unenforced,
      failures: this.#failures,
      failed: this.#failed,
    };
  }
}

async function sampleUntil(
  endMs: number,
  everyMs: number,
  look: () => Promise<Sample>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let nextMs = performance.now() + everyMs; nextMs < endMs; nextMs += everyMs) {
    await sleep(Math.max(0, nextMs - performance.now()));
    samples.push(await look());
  }
  return samples;
}

/** Resolves to how often. */
async function reloadUntil(
  endMs: number,
  everyMs: number,
  write: (version: number) => void,
): Promise<number> {
  let version = 0;
  while (performance.now() + everyMs < endMs) {
    await sleep(everyMs);
    write(++version);
  }
  await sleep(Math.max(0, endMs - performance.now()));
  return version;
}

async function lookAt(gateway: GatewayProcess, redis: Redis, scrape: () => Promise<string>) {
  const metrics = await scrape();
  const info = await redis.info();
  const [, keys = '', expiring = ''] = /^db0:keys=(\d+),expires=(\d+)/m.exec(info) ?? [];
  const open = openFiles(gateway.pid);
  return {
    rssBytes: residentBytes(gateway.pid),
    heapBytes: valueOfSeries(metrics, 'nodejs_heap_size_used_bytes'),
    files: open.length,
    sockets: open.filter((target) => target.startsWith('socket:')).length,
    redisKeys: Number(keys),
    redisKeysForEver: Number(keys) - Number(expiring),
    redisBytes: Number(/^used_memory:(\d+)/m.exec(info)?.[1]),
    series: metrics.match(/^headgate_\w+/gm)?.length ?? 0,
  };
}

function valueOfSeries(metrics: string, series: string): number {
  const line = metrics.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

/** What each of them is. */
function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      // Closed meanwhile.
      return 'closed';
    }
  });
}

/** How many keys Redis holds once there are no more than before, or after a while. */
async function drained(redis: Redis, keysBefore: number): Promise<number> {
  const endMs = performance.now() + DRAINED_WITHIN_MS;
  let keys = await redis.dbsize();
  while (keys > keysBefore && performance.now() < endMs) {
    await sleep(100);
    keys = await redis.dbsize();
  }
  return keys;
}
