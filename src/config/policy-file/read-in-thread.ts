/**
 * Reads policies in a new thread, so that the gateway answers requests meanwhile: thousands of policies or keys take
 * seconds to parse. The main thread compiles the result, which is a tenth of the work.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type PolicyFiles, type Reading, readPolicies } from './read.ts';

const THIS_FILE = new URL(import.meta.url);
/** Several times what the largest allowed files need. If a thread needs more, only the thread ends. */
const MAX_MEMORY_MIB = 1_024;
const TIMEOUT_MS = 120_000;

/** Rejects when the files take too long or too much memory to read. */
export async function readPoliciesElsewhere(paths: PolicyFiles): Promise<Reading> {
  const thread = new Worker(THIS_FILE, {
    workerData: { readPoliciesIn: paths },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Reading>();
  const tooLong = setTimeout(() => {
    reject(new Error(`not read within ${TIMEOUT_MS} ms, make the files smaller`));
  }, TIMEOUT_MS).unref();
  thread.once('message', resolve).once('error', reject);
  thread.once('exit', (code) =>
    reject(new Error(`the reading thread ended with exit code ${code}`)),
  );
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
