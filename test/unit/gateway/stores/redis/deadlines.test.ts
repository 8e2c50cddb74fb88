/** Deadlines of calls while this process is late itself: a reply that has arrived counts, although it is read late. */
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { CallDeadlines, withDeadline } from '../../../../../src/gateway/stores/redis/failures.ts';

const DEADLINE_MS = 5;
/** Replies, then says so to a thread that waits without reading. */
const REPLIER = `
const { parentPort, workerData } = require('node:worker_threads');
parentPort.on('message', () => {
  parentPort.postMessage('reply');
  Atomics.store(workerData, 0, 1);
  Atomics.notify(workerData, 0);
});`;

/** Begins a call, and stands still until the reply is there and the deadline has passed. */
async function replyInAPause<T>(begin: (reply: Promise<unknown>) => T): Promise<T> {
  const hasReplied = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(REPLIER, { eval: true, workerData: hasReplied });
  await new Promise((resolve) => worker.once('online', resolve));
  // Timers are the next that this process looks at, before anything that arrived.
  await new Promise((resolve) => setImmediate(resolve));
  const begun = begin(new Promise((resolve) => worker.once('message', resolve)));
  worker.postMessage('request');
  Atomics.wait(hasReplied, 0, 0);
  const over = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(over, 0, 0, 2 * DEADLINE_MS);
  await worker.terminate();
  return begun;
}

test('of all calls of a store', async () => {
  const deadlines = new CallDeadlines(DEADLINE_MS);
  const late: unknown[] = [];
  const inTime = await replyInAPause((reply) => {
    const end = deadlines.begin((error) => late.push(error));
    return reply.then(end);
  });
  expect([inTime, late]).toEqual([true, []]);
});

test('of one call', async () => {
  expect(await replyInAPause((reply) => withDeadline(reply, DEADLINE_MS))).toBe('reply');
});

test('a call without a reply is late', async () => {
  const deadlines = new CallDeadlines(DEADLINE_MS);
  let end = () => true;
  const error = await new Promise((resolve) => {
    end = deadlines.begin(resolve);
  });
  expect(error).toMatchObject({ reason: 'timeout' });
  expect(end()).toBe(false);
});
