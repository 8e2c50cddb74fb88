/**
 * Runs several gateway processes on one Redis, under clients that send three times what their limit allows, with policy
 * reloads meanwhile, and records everything for the judge. It shows that limits are exact.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { listedKeyPartition } from '../../../src/gateway/core/identity/partition.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { type ClientRecord, judge, type Recorded, stampOf, type Verdict } from './judge.ts';

export interface ExactnessOptions {
  /** A Redis that nothing else uses. */
  readonly redisUrl: string;
  readonly gateways: number;
  /** How many of the gateways cache denials. */
  readonly cachingGateways: number;
  readonly clients: number;
  readonly durationMs: number;
  readonly reloadEveryMs: number;
}

export interface ExactnessRun {
  readonly records: readonly ClientRecord[];
  readonly verdict: Verdict;
  /** Script calls. Each decides all requests of one turn of a gateway's event loop. */
  readonly scriptCalls: number;
  /** Requests that the script decided. The others were denied from the cache. */
  readonly scriptDecisions: number;
  /** The largest difference between a stamp of the script and the time at which Redis ran it. */
  readonly mostOffMs: number;
  readonly reloads: number;
  /** Expectations that were not met. */
  readonly wrong: readonly string[];
}

export const LIMIT = 10;
export const WINDOW_MS = 1_000;

/** Load as a multiple of the limit, in turns: bursts fill windows, lulls empty them. Three times on average. */
const BURST_LOAD = 5;
const LULL_LOAD = 1;
const TURN_MS = 2 * WINDOW_MS;
/** Until the code of every gateway is compiled, and its connection to Redis is open. */
const WARM_UP_MS = 1_000;
const RELOADED_WITHIN_MS = 30_000;
/** A stalled Redis may delay MONITOR. A wrong stamp would be off by any amount. */
const MOST_OFF_MS = 1_000;

interface Client {
  readonly id: string;
  readonly apiKey: string;
  readonly requests: Recorded[];
  unmeasured: number;
}

interface Lab {
  readonly gateways: readonly GatewayProcess[];
  readonly agent: Agent;
  readonly clients: readonly Client[];
  readonly policies: string;
}

export async function runExactness(options: ExactnessOptions): Promise<ExactnessRun> {
  await using cleanUp = new AsyncDisposableStack();
  const lab = await startLab(options, cleanUp);
  const { clients } = lab;
  const warmEndMs = Date.now() + WARM_UP_MS;
  await Promise.all(clients.map(() => drive(newClient('unlisted'), lab, warmEndMs)));
  const monitor = await startMonitor(options.redisUrl);
  cleanUp.defer(monitor.close);

  const endMs = Date.now() + options.durationMs;
  const [reloads] = await Promise.all([
    keepReloading(lab, options.reloadEveryMs, endMs),
    ...clients.map((client, i) => drive(client, lab, endMs + (i / clients.length) * TURN_MS)),
  ]);
  const { stampsByPartition, ...seen } = await monitor.finish();
  const records = clients.map(
    ({ id, requests, unmeasured }): ClientRecord => ({
      requests,
      unmeasured,
      stampsMs: stampsByPartition.get(listedKeyPartition(id)) ?? [],
    }),
  );
  const verdict = judge(records, LIMIT, WINDOW_MS);
  const run = { records, verdict, reloads, ...seen };
  return { ...run, wrong: whatIsWrong(run, options) };
}

async function startLab(options: ExactnessOptions, cleanUp: AsyncDisposableStack): Promise<Lab> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-exactness-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const policies = join(folder, 'policies.yaml');
  const clients = Array.from({ length: options.clients }, (_, i) => newClient(`client-${i}`));
  writeFileSync(policies, policyFile(clients, 0));
  const env = {
    HEADGATE_REDIS_URL: options.redisUrl,
    HEADGATE_POLICIES: policies,
    // On a busy machine Redis answers late. This is not about latency.
    HEADGATE_STORE_TIMEOUT_MS: '10000',
  };
  const withoutCache = { ...env, HEADGATE_REMEMBERED_DENIALS: '0' };
  const gateways = await Promise.all(
    Array.from({ length: options.gateways }, async (_, i) =>
      cleanUp.use(await startGatewayProcess(i < options.cachingGateways ? env : withoutCache)),
    ),
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  cleanUp.defer(() => agent.destroy());
  return { gateways, agent, clients, policies };
}

function newClient(id: string): Client {
  return { id, apiKey: `the key of ${id}`, requests: [], unmeasured: 0 };
}

/** The keys are listed, so that the log of every client is known by its name. Each version has one policy more. */
function policyFile(clients: readonly Client[], others: number): string {
  const keys = clients.map(({ id, apiKey }) => ({ id, sha256: hash('sha256', apiKey) }));
  const other = (_: unknown, i: number) => ({
    name: `other-${i}`,
    match: { path: `/other/${i}` },
    limits: ['1/1h'],
  });
  return JSON.stringify({
    version: 1,
    identity: { api_key: { keys } },
    default: { limits: [`${LIMIT}/${WINDOW_MS / 1_000}s`], on_store_failure: 'deny' },
    policies: Array.from({ length: others }, other),
  });
}

/** Replaces the policy file by one with the same limits. Resolves to the number of reloads. */
async function keepReloading(lab: Lab, everyMs: number, endMs: number): Promise<number> {
  let reloads = 0;
  while (Date.now() + everyMs < endMs) {
    await sleep(everyMs);
    reloads++;
    writeFileSync(lab.policies, policyFile(lab.clients, reloads));
    for (const gateway of lab.gateways) gateway.signal('SIGHUP');
    const loaded = new RegExp(`"policies_loaded","policies":${reloads + 1}\\b`);
    const haveAll = () => lab.gateways.every((gateway) => loaded.test(gateway.output()));
    const giveUpMs = Date.now() + RELOADED_WITHIN_MS;
    while (!haveAll() && Date.now() < giveUpMs) await sleep(25);
    if (!haveAll()) throw new Error('a gateway did not read its policy file again');
  }
  return reloads;
}

/** Sends requests at the planned times, however long the answers take. */
async function drive(client: Client, lab: Lab, endMs: number): Promise<void> {
  const open = new Set<Promise<void>>();
  const meanMs = WINDOW_MS / LIMIT;
  for (let nextMs = Date.now(); nextMs < endMs; ) {
    const waitMs = nextMs - Date.now();
    if (waitMs > 0) await sleep(waitMs);
    const asked = ask(client, lab).finally(() => open.delete(asked));
    open.add(asked);
    const inBurst = (endMs - nextMs) % (2 * TURN_MS) < TURN_MS;
    nextMs -= (Math.log(1 - Math.random()) * meanMs) / (inBurst ? BURST_LOAD : LULL_LOAD);
  }
  await Promise.all(open);
}

/** Sends a request to a gateway at random. */
async function ask(client: Client, { gateways, agent }: Lab): Promise<void> {
  const { url } = gateways[Math.floor(Math.random() * gateways.length)] as GatewayProcess;
  const headers = { 'x-api-key': client.apiKey };
  const sentMs = Date.now();
  const status = await call(url, '/envoy/', { headers, agent }).then(
    (answer) => answer.status,
    () => undefined,
  );
  const answeredMs = Date.now();
  if (status === 200 || status === 429) {
    client.requests.push({ admitted: status === 200, sentMs, answeredMs });
  } else client.unmeasured++;
}

const MONITORED = /^\+([\d.]+) \[\d+ \S+\] "(rpush|evalsha)" "([^"]*)" "(-?\d+)"/i;
const PARTITION = /\{(.*)\}/;
const END = 'the end of the record';

/** Records the commands that Redis runs, in their order, with MONITOR. */
async function startMonitor(url: string) {
  const { hostname, port } = new URL(url);
  const stampsByPartition = new Map<string, number[]>();
  let scriptCalls = 0;
  let scriptDecisions = 0;
  let mostOffMs = 0;

  function read(line: string): void {
    const [, seconds, command, name = '', number] = MONITORED.exec(line) ?? [];
    if (command?.toLowerCase() === 'rpush') {
      const partition = PARTITION.exec(name)?.[1] ?? name;
      const seenMs = Math.floor(Number(seconds) * 1_000);
      const stampMs = stampOf(Number(number), seenMs);
      mostOffMs = Math.max(mostOffMs, Math.abs(seenMs - stampMs));
      const stampsMs = stampsByPartition.get(partition) ?? [];
      stampsByPartition.set(partition, stampsMs);
      stampsMs.push(stampMs);
    } else if (command !== undefined) {
      // A request has one limit here, so the keys of a call are its requests.
      scriptCalls++;
      scriptDecisions += Number(number);
    }
  }

  const socket = connect(Number(port), hostname).setEncoding('latin1');
  const redis = new Redis(url);
  const ended = new Promise<void>((resolve, reject) => {
    let rest = '';
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('Redis ended the record')));
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop() ?? '';
      try {
        for (const line of lines) {
          if (line.includes(END)) resolve();
          else read(line);
        }
      } catch (error) {
        reject(error);
      }
    });
  });
  // `finish` throws the error.
  ended.catch(() => {});
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  return {
    async finish() {
      await redis.echo(END);
      await ended;
      return { stampsByPartition, scriptCalls, scriptDecisions, mostOffMs };
    },
    close() {
      socket.destroy();
      redis.disconnect();
    },
  };
}

function whatIsWrong(
  run: Omit<ExactnessRun, 'wrong'>,
  { cachingGateways }: ExactnessOptions,
): string[] {
  const { verdict, scriptDecisions, reloads } = run;
  const { requests, admissions, denials, unmeasured } = verdict;
  const must: Readonly<Record<string, boolean>> = {
    'no window holds more than the limit': verdict.windowsOver === 0,
    'no denial had room': verdict.wrongDenials === 0,
    'every admission is counted': verdict.uncounted === 0,
    'no admission is counted twice': verdict.overcounted === 0,
    'admissions are counted in the order of time': verdict.disordered === 0,
    'admissions are counted at the time of the clock': run.mostOffMs < MOST_OFF_MS,
    // The rest checks that there was load, and that it met the limits.
    'windows are filled to the limit': verdict.fullestWindow === LIMIT,
    'clients send much more than their limits allow': denials > 1.5 * admissions,
    'nearly all requests are measured': unmeasured < requests / 20,
    'policy files are reloaded meanwhile': reloads > 0,
    ...(cachingGateways > 0
      ? { 'denials are cached': scriptDecisions < requests - denials / 20 }
      : {
          'the script decides every request':
            scriptDecisions >= requests && scriptDecisions <= requests + unmeasured,
        }),
  };
  return Object.keys(must).filter((rule) => !must[rule]);
}
