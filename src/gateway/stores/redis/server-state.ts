/** Reads the state of Redis servers: what INFO reports and, from a sample, how many keys headgate has there. */
import { Cluster, type Redis } from 'ioredis';
import { KEY_PREFIX } from '../../core/counting/descriptor.ts';
import type { RedisClient } from './client.ts';

/** Keys scanned per server, and how many of ours have their memory measured. */
const SAMPLED_KEYS = 1_000;
const MEASURED_KEYS = 100;
const SCAN_COUNT = '250';

export interface Keyspace {
  readonly activeWindows: number;
  readonly sampledKeys: number;
  readonly isExact: boolean;
  /** About how many bytes; undefined if not requested. */
  readonly memoryBytes?: number | undefined;
}

export interface ServerState {
  readonly version: string;
  readonly usedMemoryBytes: number;
  readonly maxMemoryBytes: number;
  readonly maxMemoryPolicy: string;
  readonly evictedKeys: number;
  readonly connectedClients: number;
}

/** Scans a few keys at a time. Rejects with the error of Redis. */
export async function sampleKeyspace(client: RedisClient, withMemory: boolean): Promise<Keyspace> {
  const parts = await Promise.all(serversOf(client).map((each) => sampleServer(each, withMemory)));
  const sum = (of: (part: Keyspace) => number) => parts.reduce((all, part) => all + of(part), 0);
  return {
    activeWindows: sum(({ activeWindows }) => activeWindows),
    sampledKeys: sum(({ sampledKeys }) => sampledKeys),
    isExact: parts.every(({ isExact }) => isExact),
    memoryBytes: withMemory ? sum(({ memoryBytes = 0 }) => memoryBytes) : undefined,
  };
}

export async function describeServers(client: RedisClient): Promise<ServerState[]> {
  return Promise.all(
    serversOf(client).map(async (server) => {
      const info = new ServerInfo(await server.info());
      return {
        version: info.text('valkey_version') ?? info.text('redis_version') ?? 'unknown',
        usedMemoryBytes: info.number('used_memory'),
        maxMemoryBytes: info.number('maxmemory'),
        maxMemoryPolicy: info.text('maxmemory_policy') ?? 'unknown',
        evictedKeys: info.number('evicted_keys'),
        connectedClients: info.number('connected_clients'),
      };
    }),
  );
}

function serversOf(client: RedisClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}

async function sampleServer(server: Redis, withMemory: boolean): Promise<Keyspace> {
  const total = await server.dbsize();
  // SCAN goes by the hashes of keys, so the first keys are a fair sample.
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await server.scan(cursor, 'COUNT', SCAN_COUNT);
    for (const key of keys) seen.add(key);
    cursor = next;
  } while (cursor !== '0' && seen.size < SAMPLED_KEYS);
  const isExact = cursor === '0';
  const ours = [...seen].filter((key) => key.startsWith(KEY_PREFIX));
  const inAll = (sampled: readonly string[]) =>
    isExact ? sampled.length : Math.round((total * sampled.length) / Math.max(1, seen.size));
  const activeWindows = inAll(ours.filter((key) => !isMark(key)));
  const memoryBytes = withMemory ? (await averageBytes(server, ours)) * inAll(ours) : undefined;
  return {
    activeWindows,
    sampledKeys: seen.size,
    isExact,
    memoryBytes: memoryBytes && Math.round(memoryBytes),
  };
}

/** A mark of lua/settle.lua or lua/reset.lua, which counts nothing. Names of counters have a dot after that of the policy. */
function isMark(key: string): boolean {
  return key.endsWith(':reset') || /\}:settled:[^.]*$/.test(key);
}

async function averageBytes(server: Redis, keys: readonly string[]): Promise<number> {
  const measured = keys.slice(0, MEASURED_KEYS).map((key) => server.memory('USAGE', key));
  const sizes = (await Promise.all(measured)).filter((size) => size !== null);
  return sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length);
}

export class ServerInfo {
  readonly #fields = new Map<string, string>();

  constructor(reply: string) {
    for (const line of reply.split(/\r?\n/)) {
      const colon = line.indexOf(':');
      if (colon > 0 && !line.startsWith('#')) {
        this.#fields.set(line.slice(0, colon), line.slice(colon + 1));
      }
    }
  }

  text(name: string): string | undefined {
    return this.#fields.get(name);
  }

  number(name: string): number {
    const number = Number(this.#fields.get(name) ?? 0);
    return Number.isFinite(number) ? number : 0;
  }
}
