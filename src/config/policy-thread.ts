/**
 * Reads policies in a thread of its own, which ends with it: thousands of policies or keys take seconds to parse, and
 * requests go on being answered meanwhile. Compiling what was read, a tenth of the work, is done where it is used.
 */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type PolicyFiles, type Reading, readPolicies } from './policy-reader.ts';

const THIS_FILE = new URL(import.meta.url);

export async function readPoliciesElsewhere(paths: PolicyFiles): Promise<Reading> {
  const thread = new Worker(THIS_FILE, { workerData: { readPoliciesIn: paths } });
  const [reading] = await once(thread, 'message');
  return reading;
}

if (!isMainThread && workerData?.readPoliciesIn !== undefined) {
  parentPort?.postMessage(readPolicies(workerData.readPoliciesIn));
}
