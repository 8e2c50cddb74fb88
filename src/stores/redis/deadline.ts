/** Nothing waits for Redis longer than the deadline. What Redis does with it later only ever counts too much. */
import { StoreError } from '../../core/store.ts';

/** Rejects with a StoreError when the answer takes longer. */
export async function withDeadline<T>(answer: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const give = () =>
      reject(new StoreError('timeout', `Redis did not answer within ${deadlineMs} ms`));
    // When this process was late itself, the answer may be here, and be read only after the timers.
    timer = setTimeout(() => setImmediate(give), deadlineMs);
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
