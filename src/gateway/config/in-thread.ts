/** Reads large files in a new thread, so that the gateway answers requests meanwhile. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Files of this size are parsed in about 20 ms. Starting a thread takes 250 ms of another core. */
export const SMALL_BYTES = 8 * 1024;

/** Several times what the largest allowed files need. If a thread needs more, only the thread ends. */
const MAX_MEMORY_MIB = 1_024;
const TIMEOUT_MS = 120_000;

/** Resolves to what `answerAs` makes of the input in the file at `url`. Rejects if that takes too long or too much memory. */
export async function runElsewhere<Output>(url: URL, name: string, input: object): Promise<Output> {
  const thread = new Worker(url, {
    workerData: { [name]: input },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Output>();
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

/** Call it in the file that `runElsewhere` starts. In the main thread, and for work of other names, it does nothing. */
export function answerAs<Input, Output>(name: string, work: (input: Input) => Output): void {
  if (isMainThread || workerData?.[name] === undefined) return;
  parentPort?.postMessage(work(workerData[name]));
}
