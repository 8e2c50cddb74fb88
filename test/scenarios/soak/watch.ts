/** Measures everything of a gateway and its Redis that could grow. Linux only. */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { GatewayProcess } from '../../support/gateway.ts';
import { seriesIn } from '../../support/metrics.ts';
import { residentBytes } from '../../support/resident-memory.ts';

/** Everything that could grow, at one moment. */
export interface Sample {
  /** Since the load began. */
  readonly atMs: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly files: number;
  readonly sockets: number;
  readonly redisKeys: number;
  /** Keys without an expiry. */
  readonly redisKeysForEver: number;
  readonly redisBytes: number;
  /** Series of the gateway's own metrics. */
  readonly series: number;
  /** Distinct clients so far. */
  readonly clients: number;
}

export async function measure(
  gateway: GatewayProcess,
  redis: Redis,
  scrape: () => Promise<string>,
): Promise<Omit<Sample, 'atMs' | 'clients'>> {
  const metrics = await scrape();
  const info = await redis.info();
  const [, keys = '', expiring = ''] = /^db0:keys=(\d+),expires=(\d+)/m.exec(info) ?? [];
  const open = openFiles(gateway.pid);
  return {
    rssBytes: residentBytes(gateway.pid),
    heapBytes: seriesIn(metrics, 'nodejs_heap_size_used_bytes') ?? 0,
    files: open.length,
    sockets: open.filter((target) => target.startsWith('socket:')).length,
    redisKeys: Number(keys),
    redisKeysForEver: Number(keys) - Number(expiring),
    redisBytes: Number(/^used_memory:(\d+)/m.exec(info)?.[1]),
    series: metrics.match(/^headgate_\w+/gm)?.length ?? 0,
  };
}

/** The target of each open file descriptor. */
export function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      // The gateway closed it meanwhile.
      return 'closed';
    }
  });
}

/** A sliding window counter keeps its keys for two windows. Redis removes expired keys ten times a second. */
const EXPIRED_WITHIN_MS = 30_000;

/** Waits until Redis holds no more keys than before, for a limited time. Resolves to the number of its keys. */
export async function keysAfterExpiry(redis: Redis, keysBefore: number): Promise<number> {
  const endMs = performance.now() + EXPIRED_WITHIN_MS;
  let keys = await redis.dbsize();
  while (keys > keysBefore && performance.now() < endMs) {
    await sleep(100);
    keys = await redis.dbsize();
  }
  return keys;
}
