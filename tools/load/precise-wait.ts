/** Waits for a moment between two milliseconds, which is finer than timers are. */
import { setImmediate } from 'node:timers/promises';

/** The longest pause between two looks at the sockets. A loop that never pauses would take a core from what is measured. */
const NAP_MS = 0.1;

const cell = new Int32Array(new SharedArrayBuffer(4));

/** Resolves after one look at the sockets and at most one pause. Call it again until `performance.now()` reaches the moment. */
export async function waitTowards(momentMs: number): Promise<void> {
  await setImmediate();
  const leftMs = momentMs - performance.now();
  if (leftMs > 0) Atomics.wait(cell, 0, 0, Math.min(leftMs, NAP_MS));
}
