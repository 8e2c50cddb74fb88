/** What a contestant has used so far: CPU time, script calls, failures, memory. */
import { cpuMicrosOf, residentBytesOf, systemMicrosOf } from './cpu.ts';
import type { RedisServer, Server } from './lab.ts';

export interface Counters {
  readonly serverMicros: number;
  readonly systemMicros: number;
  readonly redisMicros: number;
  readonly proxyMicros: number;
  readonly scriptCalls: number;
  /** Requests to Redis that failed. */
  readonly failures: number;
}

export interface Counted {
  readonly server?: Server | undefined;
  readonly redis?: RedisServer | undefined;
  /** The proxy in front of the server. */
  readonly front?: Server | undefined;
}

const EVERY_MS = 100;
const MIB = 1024 * 1024;

export async function readCounters({ server, redis, front }: Counted): Promise<Counters> {
  return {
    serverMicros: server === undefined ? 0 : cpuMicrosOf(server.pid),
    systemMicros: server === undefined ? 0 : systemMicrosOf(server.pid),
    redisMicros: redis === undefined ? 0 : cpuMicrosOf(redis.pid),
    proxyMicros: front === undefined ? 0 : cpuMicrosOf(front.pid),
    scriptCalls: redis === undefined ? 0 : await scriptCalls(redis),
    failures: (await server?.failures?.()) ?? 0,
  };
}

export function grownBy(before: Counters, after: Counters): Counters {
  const names = Object.keys(before) as (keyof Counters)[];
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as Record<
    keyof Counters,
    number
  >;
}

async function scriptCalls({ client }: RedisServer): Promise<number> {
  const stats = await client.info('commandstats');
  const counts = stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

export function residentMib(server: Server | undefined): number {
  return server === undefined ? Number.NaN : residentBytesOf(server.pid) / MIB;
}

/** `stop` returns the maximum of the resident memory since the start of the watch, MiB; NaN without a server. */
export function watchMemory(server: Server | undefined): { stop(): number } {
  let most = residentMib(server);
  const timer = setInterval(() => {
    most = Math.max(most, residentMib(server));
  }, EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}
