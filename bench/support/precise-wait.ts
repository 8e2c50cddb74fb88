/** Waiting for a moment between two milliseconds, which is finer than timers know. */
import { setImmediate } from 'node:timers/promises';

/** Sockets are looked at this often meanwhile. A loop without any sleep would take a core from what is measured. */
const NAP_MS = 0.1;

const cell = new Int32Array(new SharedArrayBuffer(4));

/** Resolves after one look at the sockets and at most a nap; ask again until the moment, of performance.now(), is there. */
export async function waitTowards(momentMs: number): Promise<void> {
  await setImmediate();
  const leftMs = momentMs - performance.now();
  if (leftMs > 0) Atomics.wait(cell, 0, 0, Math.min(leftMs, NAP_MS));
}
