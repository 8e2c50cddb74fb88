/**
 * Limits how long a reply of Redis is waited for. Redis may still run the command later: then a request is counted that
 * the store did not decide.
 */
import { StoreError } from '../../core/counting/store.ts';

/** Rejects with a StoreError (`timeout`) if the reply takes longer. */
export async function withDeadline<T>(answer: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const give = () => reject(tooLate(deadlineMs));
    // If this process itself was late, the reply may have arrived but is read only after the timers.
    timer = setTimeout(() => setImmediate(give), deadlineMs);
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

export function tooLate(deadlineMs: number): StoreError {
  return new StoreError('timeout', `Redis did not answer within ${deadlineMs} ms`);
}
