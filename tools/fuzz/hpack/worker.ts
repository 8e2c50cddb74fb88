/** Tries connections until the time or their number is over, or the decoder is wrong. */
import { parentPort, workerData } from 'node:worker_threads';
import { Random } from '../../../test/support/random.ts';
import { Connection, type Counts } from './connection.ts';

export interface Task {
  readonly seed: number;
  readonly seconds: number;
  readonly count: number;
  /** The number of the connection that is tried. */
  readonly current: Int32Array<SharedArrayBuffer>;
}

export interface Outcome {
  readonly counts: Counts;
  readonly problem?: string;
}

function tryAll({ seed, seconds, count, current }: Task): Outcome {
  const counts: Counts = { right: 0, fields: 0, brokenAndRead: 0, refused: 0 };
  const untilMs = performance.now() + seconds * 1_000;
  for (let i = 0; i < count && performance.now() < untilMs; i++) {
    Atomics.store(current, 0, i);
    const mixed = Math.imul(seed, 0x9e37_79b1) ^ Math.imul(i, 0x85eb_ca6b);
    const connection = new Connection(new Random(mixed), counts);
    try {
      connection.run();
    } catch (error) {
      return { counts, problem: `${textOf(connection)}\n${(error as Error).stack}` };
    }
  }
  return { counts };
}

function textOf({ maxTableBytes, sent }: Connection): string {
  const blocks = sent.map((block) => `  ${block.toString('hex')}`);
  return [`A table of ${maxTableBytes} bytes, and these blocks:`, ...blocks].join('\n');
}

parentPort?.postMessage(tryAll(workerData as Task));
