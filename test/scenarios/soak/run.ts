/**
 * Runs a gateway for a while under hundreds of new clients a second, with reloads and scrapes, on one Redis, and records
 * everything that could grow. It shows that a gateway can run for months. Linux only.
 */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { headerOf, type Outcome, startLoad } from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { seriesIn } from '../../support/metrics.ts';
import { clientsAmong, keyFile, policyFile, requestOf } from './clients.ts';
import { keysAfterExpiry, measure, openFiles, type Sample } from './watch.ts';

export interface SoakOptions {
  /** A Redis that nothing else uses. */
  readonly redisUrl: string;
  /** Samples of the warm-up are not judged. */
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly perSecond: number;
  /** The length of every window but that of the global limit. */
  readonly windowSeconds: number;
  /** Few denials, so that the cache is full after the warm-up: a cache that fills up is not a leak. */
  readonly cachedDenials: number;
  readonly sampleEveryMs: number;
  readonly reloadEveryMs: number;
  /** Listed keys that nobody uses. A long file is read in a thread, whose memory comes and goes. */
  readonly otherKeys: number;
  /** Maximum heap of the gateway. A small heap is collected often, so a leak shows soon. */
  readonly heapMiB?: number;
  /** How often the gateway collects all garbage. By default V8 decides. What remains shows a leak within seconds. */
  readonly collectEveryMs?: number;
}

export interface SoakRun {
  /** Of the time after the warm-up. */
  readonly samples: readonly Sample[];
  readonly requests: number;
  readonly clients: number;
  readonly allowed: number;
  readonly denied: number;
  /** Decisions without Redis. */
  readonly unenforced: number;
  readonly rememberedDenials: number;
  /** The first answers other than 200 and 429, described. */
  readonly failed: readonly string[];
  readonly failures: number;
  /** Policy files that were written, and reloads that the gateway reports. */
  readonly reloads: number;
  readonly reloadsCounted: number;
  /** Open files of the gateway before the load began. */
  readonly filesAtRest: number;
  /** Keys in Redis before the load, and after it once all windows have ended. */
  readonly keysBefore: number;
  readonly keysAfter: number;
}

export const CONNECTIONS = 64;
const DESCRIBED_FAILURES = 5;
const RELOADS = 'headgate_policy_reloads_total{result="ok"}';
/** The gateway waits up to five seconds for a file that is written in place. */
const RELOADED_WITHIN_MS = 20_000;
/** On a busy machine answers are slow. This is about memory, so they are waited for. */
const PATIENCE_MS = 60_000;

export async function runSoak(options: SoakOptions): Promise<SoakRun> {
  await using cleanUp = new AsyncDisposableStack();
  const { gateway, writePolicies } = await startSoakedGateway(options, cleanUp);
  const redis = new Redis(options.redisUrl);
  cleanUp.defer(() => redis.disconnect());
  const scrape = scraperOf(gateway, cleanUp);

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
    patienceMs: PATIENCE_MS,
  });
  cleanUp.defer(() => load.stop());
  const endMs = startMs + options.warmUpMs + options.measuredMs;
  const sample = async (): Promise<Sample> => ({
    atMs: performance.now() - startMs,
    clients: clientsAmong(load.count),
    ...(await measure(gateway, redis, scrape)),
  });
  const [samples, reloads] = await Promise.all([
    sampleUntil(endMs, options.sampleEveryMs, sample),
    reloadUntil(endMs, options.reloadEveryMs, writePolicies),
  ]);
  const requests = load.count;
  await load.stop();
  const metrics = await scrapedOnceReloaded(scrape, reloads);
  const keysAfter = await keysAfterExpiry(redis, keysBefore);
  return {
    samples: samples.filter(({ atMs }) => atMs >= options.warmUpMs),
    requests,
    clients: clientsAmong(requests),
    ...tally.sums(),
    rememberedDenials: seriesIn(metrics, 'headgate_remembered_denials_total') ?? 0,
    reloads,
    reloadsCounted: seriesIn(metrics, RELOADS) ?? 0,
    filesAtRest,
    keysBefore,
    keysAfter,
  };
}

async function startSoakedGateway(options: SoakOptions, cleanUp: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-soak-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const policies = join(folder, 'policies.yaml');
  const writePolicies = (version: number) =>
    writeFileSync(policies, policyFile(version, options.windowSeconds));
  writeFileSync(join(folder, 'keys.yaml'), keyFile(options.otherKeys));
  writePolicies(0);
  const gateway = cleanUp.use(
    await startGatewayProcess({
      HEADGATE_REDIS_URL: options.redisUrl,
      HEADGATE_POLICIES: policies,
      HEADGATE_REMEMBERED_DENIALS: String(options.cachedDenials),
      // On a busy machine Redis answers late. This is not about latency.
      HEADGATE_STORE_TIMEOUT_MS: '10000',
      NODE_OPTIONS: nodeOptions(options),
    }),
  );
  return { gateway, writePolicies };
}

function nodeOptions({ heapMiB, collectEveryMs }: SoakOptions): string {
  const options: string[] = [];
  if (heapMiB !== undefined)
    options.push(`--max-old-space-size=${heapMiB}`, '--max-semi-space-size=4');
  if (collectEveryMs !== undefined)
    options.push(
      '--expose-gc',
      `--import=data:text/javascript,setInterval(gc,${collectEveryMs}).unref()`,
    );
  return options.join(' ');
}

function scraperOf(gateway: GatewayProcess, cleanUp: AsyncDisposableStack): () => Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  cleanUp.defer(() => agent.destroy());
  return async () => {
    const answer = call(gateway.opsUrl, '/metrics', { agent });
    // A gateway that leaks too much crashes before it can be judged.
    const { body } = await answer.catch((cause: unknown) => {
      throw new Error(`the gateway does not answer:\n${gateway.output()}`, { cause });
    });
    return body;
  };
}

/** Waits until the gateway has read the last file, for a limited time. */
async function scrapedOnceReloaded(scrape: () => Promise<string>, reloads: number) {
  const endMs = performance.now() + RELOADED_WITHIN_MS;
  let metrics = await scrape();
  while ((seriesIn(metrics, RELOADS) ?? 0) < reloads && performance.now() < endMs) {
    await sleep(100);
    metrics = await scrape();
  }
  return metrics;
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
  sample: () => Promise<Sample>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let nextMs = performance.now() + everyMs; nextMs < endMs; nextMs += everyMs) {
    await sleep(Math.max(0, nextMs - performance.now()));
    samples.push(await sample());
  }
  return samples;
}

/** Resolves to the number of reloads. */
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
