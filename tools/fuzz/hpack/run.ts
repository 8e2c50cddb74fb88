/**
 * Sends right and broken header blocks through the HPACK decoder. It must read right ones as they were meant, and each
 * broken one must be read or refused with CompressionError.
 */
import { Worker } from 'node:worker_threads';
import type { Outcome, Task } from './worker.ts';

/** A connection takes a millisecond. */
const HANGS_AFTER_MS = 60_000;

/** False if the decoder is wrong or hangs. What was found is printed. */
export async function fuzzHpack(options: Omit<Task, 'current'>): Promise<boolean> {
  const { seed, seconds, count } = options;
  console.log(`hpack: seed ${seed}, ${seconds} s, at most ${count} connections`);
  const current = new Int32Array(new SharedArrayBuffer(4));
  const task: Task = { ...options, current };
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData: task });
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  worker.once('message', resolve).once('error', reject);
  let before = -1;
  const watch = setInterval(() => {
    const now = Atomics.load(current, 0);
    if (now === before) reject(new Error(`connection ${now} of seed ${seed} hangs`));
    before = now;
  }, HANGS_AFTER_MS);
  try {
    const { counts, problem } = await promise;
    console.log(`  ${Atomics.load(current, 0) + 1} connections: ${JSON.stringify(counts)}`);
    if (problem !== undefined) console.error(`${problem}\nTo repeat it, add --seed ${seed}`);
    return problem === undefined;
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}
