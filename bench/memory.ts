/**
 * How many bytes of Redis does an accepted request take, against the classic ZSET? And what settlements and resets leave?
 *
 * 100 and 1,000 requests in each key, 100,000 in all; keys have the same length on both sides. By MEMORY USAGE, which
 * counts a key with all that belongs to it, and by how much more memory the whole server uses.
 */
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { printTable } from '../tools/table.ts';
import { fill } from './support/fill.ts';
import { createLab } from './support/lab.ts';
import { machineLine } from './support/machine.ts';
import { resetMany, settleMany } from './support/marks.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const ENTRIES = 100_000;
const ZSET_SCRIPT = readFileSync(new URL('rivals/zset.lua', import.meta.url), 'utf8');

await using lab = createLab();
const headgate = await lab.redis();
const zset = await lab.redis();

interface Bytes {
  readonly perEntry: number;
  readonly ofServerPerEntry: number;
  readonly keys: readonly string[];
}

async function measure(client: Redis, work: () => Promise<void>): Promise<Bytes> {
  await client.flushall();
  const before = await usedBytes(client);
  await work();
  const after = await usedBytes(client);
  // The salt of the day is no log.
  const keys = (await client.keys('hg:v1:{*')).concat(await client.keys('zset:*')).sort();
  const sizes = await Promise.all(
    keys.map((key) => client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')),
  );
  const total = sizes.reduce<number>((sum, size) => sum + Number(size), 0);
  return { perEntry: total / ENTRIES, ofServerPerEntry: (after - before) / ENTRIES, keys };
}

async function usedBytes(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
}

async function fillGateway(clients: number): Promise<void> {
  const gateway = await lab.gateway(POLICIES, headgate.url());
  await fill({ url: gateway.url, requests: ENTRIES, clients });
  // Buffers of its connection are no entries.
  await gateway.stop();
}

async function fillZset(clients: number, keyLength: number): Promise<void> {
  const keys = Array.from({ length: clients }, (_, i) =>
    `zset:default:${i}`.padEnd(keyLength, '.'),
  );
  for (let entry = 0; entry < ENTRIES; entry += clients) {
    const pipeline = zset.client.pipeline();
    for (const key of keys) pipeline.eval(ZSET_SCRIPT, 1, key, 1_000_000, 3_600_000);
    await pipeline.exec();
  }
}

console.log(`${machineLine()}\n`);
const rows = [];
for (const perKey of [100, 1_000]) {
  const clients = ENTRIES / perKey;
  const ours = await measure(headgate.client, () => fillGateway(clients));
  const keyLength = ours.keys[0]?.length ?? 0;
  const theirs = await measure(zset.client, () => fillZset(clients, keyLength));
  if (ours.keys.length !== clients || theirs.keys.length !== clients) {
    throw new Error(`${ours.keys.length} and ${theirs.keys.length} keys instead of ${clients}`);
  }
  rows.push({
    'requests in a key': String(perKey),
    'headgate, bytes/request': ours.perEntry.toFixed(1),
    'ZSET, bytes/request': theirs.perEntry.toFixed(1),
    'ZSET, times headgate': (theirs.perEntry / ours.perEntry).toFixed(1),
    'headgate, server bytes/request': ours.ofServerPerEntry.toFixed(1),
    'ZSET, server bytes/request': theirs.ofServerPerEntry.toFixed(1),
  });
}
printTable(rows);
console.log();

const left = [];
for (const [name, leave] of [
  ['of a settlement', settleMany],
  ['of a reset', resetMany],
] as const) {
  const { client } = headgate;
  const marks = await measure(client, () => leave(client, ENTRIES));
  if (marks.keys.length !== ENTRIES) throw new Error(`${marks.keys.length} marks`);
  left.push({
    mark: name,
    'bytes/mark': marks.perEntry.toFixed(1),
    'server bytes/mark': marks.ofServerPerEntry.toFixed(1),
  });
}
printTable(left);
