/**
 * How many bytes do a million API keys take in Redis and in a gateway that has seen all of them?
 *
 * Ids as `customer-123456`, two plans, no comment. Redis: by how much more memory the whole server uses, and by MEMORY USAGE
 * of the index. Gateway: records as Redis returns them, each found once.
 */
import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Redis } from 'ioredis';
import { KeyBook } from '../src/gateway/keys/key-book.ts';
import { clientOf, readRecord, recordText } from '../src/gateway/keys/key-record.ts';
import { KnownKeys } from '../src/gateway/keys/known-keys.ts';
import { RedisKeyStore } from '../src/gateway/keys/redis-key-store.ts';
import type { KeyRecord } from '../src/gateway/keys/stored-keys.ts';
import { overIoredis } from '../src/gateway/stores/redis/counting-connection.ts';
import { printTable } from '../tools/table.ts';
import { createLab } from './support/lab.ts';
import { machineLine } from './support/machine.ts';

const KEYS = 1_000_000;
const AT_ONCE = 10_000;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function recordOf(i: number): KeyRecord {
  return {
    ...clientOf(`customer-${i}`),
    digest: hash('sha256', `key ${i}`, 'base64url'),
    plan: i % 2 === 0 ? 'free' : 'pro',
    isBlocked: false,
    endsMs: Number.POSITIVE_INFINITY,
    comment: undefined,
    addedMs: Date.UTC(2026, 0, 1) + i,
  };
}

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function bytesInGateway(): number {
  const before = usedBytes();
  const known = new KnownKeys(() => performance.now());
  for (let i = 0; i < KEYS; i++) {
    const record = recordOf(i);
    const read = readRecord(record.digest, recordText(record));
    if (read !== undefined) known.rememberFound(read.digest, read);
    known.find(record.digest);
  }
  const bytes = (usedBytes() - before) / KEYS;
  if (known.find(recordOf(KEYS - 1).digest) === undefined) throw new Error('a key was forgotten');
  return bytes;
}

async function usedByRedis(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
}

async function bytesInRedis(client: Redis) {
  const noEvents = { recordUnreadable() {}, changesMissed() {} };
  const silent = { lookedUp() {}, lookUpsLate() {}, lookUpsFailed() {} };
  const book = new KeyBook({
    store: new RedisKeyStore({ client, connection: overIoredis(client), events: noEvents }),
    events: { ...noEvents, ...silent, tooManyInvented() {} },
    ...{ deadlineMs: 1_000, now: () => performance.now() },
  });
  await client.flushall();
  const before = await usedByRedis(client);
  for (let i = 0; i < KEYS; i += AT_ONCE) {
    await book.put(Array.from({ length: AT_ONCE }, (_, more) => recordOf(i + more)));
  }
  const all = ((await usedByRedis(client)) - before) / KEYS;
  const bytesOf = async (key: string) =>
    Number(await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'));
  return {
    all,
    record: await bytesOf(`hg:v1:key:${recordOf(0).digest}`),
    index: (await bytesOf('hg:v1:keys')) / KEYS,
    changes: await bytesOf('hg:v1:keys:changes'),
  };
}

console.log(`${machineLine()}\n`);
await using lab = createLab();
const { client } = await lab.redis();
const inRedis = await bytesInRedis(client);
printTable([
  {
    keys: KEYS.toLocaleString('en'),
    'server bytes/key': inRedis.all.toFixed(1),
    'record, bytes': inRedis.record.toFixed(0),
    'index, bytes/key': inRedis.index.toFixed(1),
    'list of changes, KiB': (inRedis.changes / 1_024).toFixed(0),
    'gateway, bytes/key': bytesInGateway().toFixed(1),
  },
]);
