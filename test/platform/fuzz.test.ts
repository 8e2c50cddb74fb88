/** Seconds of each fuzzer, with a fixed seed and with a new one: `npm run fuzz` runs them for longer. */
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';
import { testWithOwnRedis } from '../support/redis.ts';

const FUZZ = fileURLToPath(new URL('../../tools/fuzz/fuzz.ts', import.meta.url));
const SECONDS = 5;
const FIXED_SEED = 1;
/** After a crash, the fuzzer looks for the connection that caused it. */
const LONG = { timeout: 480_000 };

async function fuzz(target: string, seed: number, ...options: string[]): Promise<void> {
  console.info(`npm run fuzz -- ${target} --seed ${seed} ${options.join(' ')}`);
  const args = [FUZZ, target, '--seconds', String(SECONDS), '--seed', String(seed), ...options];
  await using running = startProcess(process.execPath, args);
  const code = await running.exited();
  expect(code, running.output()).toBe(0);
}

const newSeed = () => randomInt(1_000_000_000);

test.each(['grpc', 'http', 'ops'])(
  'a gateway lives through what the fuzzer sends: %s',
  LONG,
  async (target) => {
    await fuzz(target, FIXED_SEED);
    await fuzz(target, newSeed());
  },
);

test('so it does over gRPC with TLS', LONG, async () => {
  await fuzz('grpc', newSeed(), '--tls');
});

testWithOwnRedis.each(['grpc', 'http'])('no worker is lost by it: %s', LONG, async (target) => {
  await fuzz(target, newSeed(), '--workers', '2');
});

test('the HPACK decoder reads what the fuzzer meant', LONG, async () => {
  await fuzz('hpack', FIXED_SEED);
  await fuzz('hpack', newSeed());
});
