/**
 * What does a take from the memory store cost in a loop, and how many bytes does a key take, with 1,000 and with
 * 1,000,000 keys?
 *
 * The store by itself, without a gateway. Every key is counted once before the rounds begin. Keys are built anew for
 * each take, as for clients that a gateway does not remember.
 */
import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MemoryStore } from '../src/gateway/stores/memory/memory-store.ts';
import { printTable, spread } from '../tools/table.ts';
import { machineLine } from './support/machine.ts';

const SIZES = [1_000, 1_000_000];
const ROUNDS = 9;
const TAKES_PER_ROUND = 200_000;
/** A prime, so that neighbours in time are no neighbours in memory. */
const STEP = 7_919;
const DIGEST_LENGTH = 22;
const QUOTA = {
  algorithm: 'sliding-window-log',
  limit: 1_000_000,
  windowMs: 3_600_000,
  burst: 1_000_000,
  countRejected: false,
} as const;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function createContestant(size: number) {
  const digests = Buffer.alloc(size * DIGEST_LENGTH);
  for (let i = 0; i < size; i++) {
    digests.write(hash('sha256', String(i), 'base64url'), i * DIGEST_LENGTH, DIGEST_LENGTH);
  }
  const before = usedBytes();
  let nowMs = Date.UTC(2026, 0, 1);
  let next = 0;
  const store = new MemoryStore({ now: () => nowMs, maxKeys: size });
  const take = (times: number) => {
    for (let i = 0; i < times; i++) {
      next = (next + STEP) % size;
      if (next === 0) nowMs++;
      const start = next * DIGEST_LENGTH;
      const digest = digests.toString('latin1', start, start + DIGEST_LENGTH);
      const key = ['hg:v1:{i.', digest, '}:default:client.3600000'].join('');
      store.take([{ key, quota: QUOTA, cost: 1 }]);
    }
  };
  take(size);
  return { size, take, bytesPerKey: (usedBytes() - before) / size, micros: [] as number[] };
}

console.log(`${machineLine()}; ${ROUNDS} rounds. Median (least to most).\n`);
const contestants = SIZES.map(createContestant);
for (let round = 0; round < ROUNDS; round++) {
  for (const { take, micros } of contestants) {
    const before = process.cpuUsage();
    take(TAKES_PER_ROUND);
    const { user, system } = process.cpuUsage(before);
    micros.push((user + system) / TAKES_PER_ROUND);
  }
}
printTable(
  contestants.map(({ size, bytesPerKey, micros }) => ({
    keys: String(size),
    'us/take': spread(micros, 2),
    'bytes/key': bytesPerKey.toFixed(0),
  })),
);
