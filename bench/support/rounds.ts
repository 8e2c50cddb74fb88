/**
 * Contestants take short turns, so that a noisy machine is noisy for all of them. Each is started several times, because
 * two processes of the same program can differ by a third as long as they run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Counters, grownBy, readCounters, residentMib, watchMemory } from './counters.ts';
import type { RedisServer, Server } from './lab.ts';
import { type Applied, CONNECTIONS, type Latency, type Load } from './load.ts';
import { machineLine } from './machine.ts';
import { OPTIONS } from './options.ts';

export interface Contestant {
  readonly name: string;
  /**
   * Starts one process. Contestants with the same function share their processes. Missing: a proxy that sends no checks.
   */
  readonly start?: (() => Promise<Server>) | undefined;
  /** Its CPU time and script calls are those of the contestant while it has its turn. */
  readonly redis?: RedisServer | undefined;
  /** Starts the proxy that gets the load and sends checks to the server. */
  readonly proxy?: ((server: Server | undefined) => Promise<Server>) | undefined;
  readonly load: Load;
}

/** One turn. */
export interface Measured extends Partial<Latency> {
  readonly serverMicrosPerRequest: number;
  /** The part of it that the kernel needs. */
  readonly systemMicrosPerRequest: number;
  readonly redisMicrosPerRequest: number;
  /** Server and Redis. */
  readonly totalMicrosPerRequest: number;
  readonly proxyMicrosPerRequest: number;
  readonly scriptCallsPerRequest: number;
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** The maximum of the resident memory of the server and its child processes. */
  readonly residentMib: number;
  /** How long the turn took. */
  readonly seconds: number;
  /** Before the first request of its process. */
  readonly idleMib: number;
  /** CPU time of the server and Redis without requests. */
  readonly idleMicrosPerSecond: number;
}

export interface Outcome {
  readonly name: string;
  readonly usesRedis: boolean;
  /** Of all processes: those of the first, then those of the second, and so on. */
  readonly rounds: readonly Measured[];
  /** The same, for each process. */
  readonly processes: readonly (readonly Measured[])[];
}

export interface RoundOptions {
  /** Turns of each process. */
  readonly rounds?: number;
  readonly processes?: number;
  readonly seconds?: number;
  /** Of each process, before its first turn. */
  readonly warmUpSeconds?: number;
  /** For the line about the machine. */
  readonly loadIs?: string;
}

interface Running extends Contestant {
  readonly server?: Server | undefined;
  readonly front?: Server | undefined;
  readonly idle: Idle;
}

type Idle = Pick<Measured, 'idleMib' | 'idleMicrosPerSecond'>;

const IDLE_MS = 2_000;
/** Requests of a gateway to Redis that may fail, as a share. A gateway without Redis answers faster than by counting. */
const MOST_FAILURES = 0.001;

/**
 * Prints the machine and resolves to the outcomes, in the order of the contestants. The first processes of all
 * contestants take their turns and end, then the second ones take theirs. The command line can change the numbers, and
 * leave out contestants: these have no turns.
 */
export async function interleave<const T extends readonly Contestant[]>(
  contestants: T,
  options: RoundOptions = {},
): Promise<{ [K in keyof T]: Outcome }> {
  const { loadIs = `${CONNECTIONS} connections` } = options;
  const rounds = OPTIONS.rounds ?? options.rounds ?? 5;
  const processes = OPTIONS.processes ?? options.processes ?? 3;
  const seconds = OPTIONS.seconds ?? options.seconds ?? 1;
  console.log(
    `${machineLine()}; ${processes} processes of each, ${rounds} rounds of ${seconds} s, ${loadIs}. Median (least to most).\n`,
  );
  const takingPart = contestants.filter(
    ({ name }) => OPTIONS.only.test(name) || name.includes('empty'),
  );
  const measured = takingPart.map((): Measured[][] => []);
  for (let process = 0; process < processes; process++) {
    const running = await startAll(takingPart);
    for (const each of running) await takeTurn(each, options.warmUpSeconds ?? 2);
    for (const each of measured) each.push([]);
    for (let round = 0; round < rounds; round++) {
      for (const [i, each] of running.entries()) {
        measured[i]?.[process]?.push(await takeTurn(each, seconds));
      }
    }
    for (const { server, front } of running) {
      await front?.stop();
      await server?.stop();
    }
  }
  return contestants.map((contestant) => {
    const { name, redis } = contestant;
    const processes = measured[takingPart.indexOf(contestant)] ?? [];
    return { name, usesRedis: redis !== undefined, rounds: processes.flat(), processes };
  }) as { [K in keyof T]: Outcome };
}

async function startAll(contestants: readonly Contestant[]): Promise<Running[]> {
  const started = new Map<Contestant['start'], Server | undefined>();
  const running = [];
  for (const contestant of contestants) {
    const { start, proxy } = contestant;
    if (!started.has(start)) started.set(start, await start?.());
    const server = started.get(start);
    running.push({ ...contestant, server, front: await proxy?.(server) });
  }
  const before = await Promise.all(running.map(readCounters));
  const startMs = performance.now();
  await sleep(IDLE_MS);
  const seconds = (performance.now() - startMs) / 1_000;
  const after = await Promise.all(running.map(readCounters));
  return running.map((each, i) => {
    const grown = grownBy(before[i] as Counters, after[i] as Counters);
    return {
      ...each,
      idle: {
        idleMib: residentMib(each.server),
        idleMicrosPerSecond: (grown.serverMicros + grown.redisMicros) / seconds,
      },
    };
  });
}

async function takeTurn(running: Running, seconds: number): Promise<Measured> {
  const { name, server, front, load } = running;
  const target = front ?? server;
  if (target === undefined) throw new Error(`${name} has nothing that answers`);
  const before = await readCounters(running);
  const startMs = performance.now();
  const memory = watchMemory(server);
  const applied = await load(target, seconds)
    .catch((error: unknown) => {
      throw new Error(`${name}: ${error instanceof Error ? error.message : error}`);
    })
    .finally(() => memory.stop());
  const grown = grownBy(before, await readCounters(running));
  if (grown.failures > applied.requests * MOST_FAILURES)
    throw new Error(`${name}: Redis failed ${grown.failures} times`);
  const tookSeconds = (performance.now() - startMs) / 1_000;
  return {
    ...measured(grown, applied),
    ...running.idle,
    seconds: tookSeconds,
    residentMib: memory.stop(),
  };
}

function measured(grown: Counters, { requests, requestsPerSecond, latency }: Applied) {
  return {
    serverMicrosPerRequest: grown.serverMicros / requests,
    systemMicrosPerRequest: grown.systemMicros / requests,
    redisMicrosPerRequest: grown.redisMicros / requests,
    totalMicrosPerRequest: (grown.serverMicros + grown.redisMicros) / requests,
    proxyMicrosPerRequest: grown.proxyMicros / requests,
    scriptCallsPerRequest: grown.scriptCalls / requests,
    requests,
    requestsPerSecond,
    ...latency,
  };
}
