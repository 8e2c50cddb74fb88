/**
 * Reads policies in a thread of its own, which ends with it: thousands of policies or keys take seconds to parse, and
 * requests go on being answered meanwhile. Compiling what was read, a tenth of the work, is done where it is used.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type PolicyFiles, type Reading, readPolicies } from './read.ts';

const THIS_FILE = new URL(import.meta.url);
/** Several times what the largest files take that may be. A thread that needs more ends, and nothing else does. */
const MOST_MEMORY_MIB = 1_024;
const LONGEST_MS = 120_000;

/** Rejects when the files take too long or too much memory to read. */
export async function readPoliciesElsewhere(paths: PolicyFiles): Promise<Reading> {
  const thread = new Worker(THIS_FILE, {
    workerData: { readPoliciesIn: paths },
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MIB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Reading>();
  const tooLong = setTimeout(() => {
    reject(new Error(`not read after ${LONGEST_MS} ms, make the files smaller`));
  }, LONGEST_MS).unref();
  thread.once('message', resolve).once('error', reject);
  thread.once('exit', (code) => reject(new Error(`the thread that read it ended with ${code}`)));
  try {
    return await promise;
  } finally {
    clearTimeout(tooLong);
    void thread.terminate();
  }
}

if (!isMainThread && workerData?.readPoliciesIn !== undefined) {
  parentPort?.postMessage(readPolicies(workerData.readPoliciesIn));
}
