/** What a supervisor knows of a worker, and what it sends to it. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WorkerHandle } from '../../../../../src/gateway/app/workers/worker-handle.ts';
import { FakeWorker } from '../../../../support/fake-worker.ts';

// Fake timers do not reach this module by themselves.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, value?: unknown) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms, value);
    }),
}));

beforeEach(() => void vi.useFakeTimers({ now: 1_000 }));
afterEach(() => void vi.useRealTimers());

const CONNECTION = {} as Socket;
const REPORT = { metrics: [], degraded: true, unseenHeaders: [], unsettledPolicies: [] };

function setUp() {
  const worker = new FakeWorker(7);
  const handle = new WorkerHandle(2, worker.asForked);
  return { worker, handle };
}

async function setUpReady() {
  const { worker, handle } = setUp();
  worker.says({ type: 'ready', store: 'counts' });
  await handle.ready;
  return { worker, handle };
}

test('a worker answers from its first message until it is stopped', async () => {
  const { worker, handle } = setUp();
  expect([handle.id, handle.slot]).toEqual([7, 2]);
  expect([handle.isAnswering, handle.wasReady]).toEqual([false, false]);
  worker.says({ type: 'ready', store: 'refuses' });
  expect(await handle.ready).toBe('refuses');
  expect([handle.isAnswering, handle.wasReady, handle.isLeaving]).toEqual([true, true, false]);
  void handle.stop(100, 50);
  expect([handle.isAnswering, handle.wasReady, handle.isLeaving]).toEqual([false, true, true]);
  expect(worker.sent).toEqual([{ type: 'stop', drainMs: 100 }]);
});

test.each([
  [3, null, 3, 'exit code 3'],
  [null, 'SIGKILL', 1, 'SIGKILL'],
])(
  'a worker that ends with %s or %s before it answers has failed',
  async (code, signal, exitCode, how) => {
    const { worker, handle } = setUp();
    worker.exits(code, signal);
    await expect(handle.ready).rejects.toMatchObject({ name: 'WorkerFailed', exitCode });
    expect(await handle.ended).toBe(how);
    expect(handle.isAnswering).toBe(false);
  },
);

test('a worker that cannot be started has failed', async () => {
  const { worker, handle } = setUp();
  worker.process.pid = undefined as never;
  worker.emit('error', new Error('spawn EAGAIN'));
  await expect(handle.ready).rejects.toMatchObject({ exitCode: 1 });
  expect(await handle.ended).toBe('spawn EAGAIN');
});

test('an error of the channel does not end a worker', async () => {
  const { worker, handle } = await setUpReady();
  worker.emit('error', new Error('EPIPE'));
  await vi.advanceTimersByTimeAsync(1);
  expect(handle.isAnswering).toBe(true);
});

test('a worker has ended once its last messages are there', async () => {
  const { worker, handle } = await setUpReady();
  worker.emit('exit', 0, null);
  await vi.advanceTimersByTimeAsync(1);
  expect(handle.isAnswering).toBe(true);
  worker.says({ type: 'report', report: REPORT });
  worker.exits(0);
  expect(await handle.ended).toBe('exit code 0');
  expect(handle.lastReport).toBe(REPORT);
});

test('a worker that is not ready within 30 seconds is killed', async () => {
  const { worker } = setUp();
  await vi.advanceTimersByTimeAsync(29_999);
  expect(worker.signals).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(worker.signals).toEqual(['SIGKILL']);
});

test('a worker that was ready in time is not killed', async () => {
  const { worker } = await setUpReady();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(worker.signals).toEqual([]);
});

test('a worker that does not stop in time is killed', async () => {
  const { worker, handle } = await setUpReady();
  const stopped = handle.stop(100, 50);
  await vi.advanceTimersByTimeAsync(149);
  expect(worker.signals).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(worker.signals).toEqual(['SIGKILL']);
  worker.exits(null, 'SIGKILL');
  await stopped;
});

test('a worker that stops in time is not killed', async () => {
  const { worker, handle } = await setUpReady();
  const stopped = handle.stop(100, 50);
  worker.exits(0);
  await stopped;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(worker.signals).toEqual([]);
});

test('one report is requested at a time', async () => {
  const { worker, handle } = await setUpReady();
  const reports = [handle.report(), handle.report()];
  expect(worker.sent).toEqual([{ type: 'report' }]);
  worker.says({ type: 'report', report: REPORT });
  await Promise.all(reports);
  expect(handle.lastReport).toBe(REPORT);
  void handle.report();
  expect(worker.sent).toHaveLength(2);
});

test('a worker without a report is not waited for longer than a second', async () => {
  const { handle } = await setUpReady();
  const onReport = vi.fn();
  void handle.report().then(onReport);
  await vi.advanceTimersByTimeAsync(999);
  expect(onReport).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onReport).toHaveBeenCalledOnce();
  expect(handle.lastReport).toBeUndefined();
});

test('a worker that is not ready or has ended gets no request for a report', async () => {
  const { worker, handle } = setUp();
  await handle.report();
  worker.says({ type: 'ready', store: 'counts' });
  worker.exits(0);
  await handle.ended;
  await handle.report();
  expect(worker.sent).toEqual([]);
});

test('each operation has the outcome with its id', async () => {
  const { worker, handle } = await setUpReady();
  const [first, second] = [handle.operate('block', { a: 1 }), handle.operate('stats', {})];
  expect(worker.sent).toEqual([
    { type: 'operate', id: 1, name: 'block', input: { a: 1 }, beforeMs: 1_500 },
    { type: 'operate', id: 2, name: 'stats', input: {}, beforeMs: 1_500 },
  ]);
  worker.says({ type: 'operated', id: 2, outcome: { result: 'second' } });
  worker.says({ type: 'operated', id: 1, outcome: { result: 'first' } });
  expect([await first, await second]).toEqual([{ result: 'first' }, { result: 'second' }]);
});

test('an operation has no outcome if the worker ends, or takes longer than three seconds', async () => {
  const { worker, handle } = await setUpReady();
  const slow = handle.operate('stats', {});
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await slow).toBeUndefined();
  worker.says({ type: 'operated', id: 1, outcome: { result: 'late' } });
  const cut = handle.operate('stats', {});
  worker.exits(1);
  expect(await cut).toBeUndefined();
});

test('a connection is taken if the worker says so', async () => {
  const { worker, handle } = await setUpReady();
  const taken = handle.take('check', CONNECTION);
  expect(worker.sent).toMatchObject([{ type: 'connection', id: 1, port: 'check' }]);
  worker.says({ type: 'connection', id: 1, isTaken: true });
  expect(await taken).toBe(true);
  const left = handle.take('grpc', CONNECTION);
  worker.says({ type: 'connection', id: 2, isTaken: false });
  expect(await left).toBe(false);
});

test('a late answer about a connection is not taken for one about the next', async () => {
  const { worker, handle } = await setUpReady();
  const first = handle.take('check', CONNECTION);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await first).toBe(false);
  const second = handle.take('check', CONNECTION);
  worker.says({ type: 'connection', id: 1, isTaken: false });
  worker.says({ type: 'connection', id: 2, isTaken: true });
  expect(await second).toBe(true);
});

test('a connection is not taken by a worker that ends before it says so, or has ended', async () => {
  const { worker, handle } = await setUpReady();
  const cut = handle.take('check', CONNECTION);
  worker.exits(null, 'SIGKILL');
  expect(await cut).toBe(false);
  await handle.ended;
  expect(await handle.take('check', CONNECTION)).toBe(false);
  expect(worker.sent).toHaveLength(1);
});

test('nothing is sent to a worker whose channel is closed', async () => {
  const { worker, handle } = await setUpReady();
  worker.connected = false;
  handle.send({ type: 'reload' });
  void handle.take('check', CONNECTION);
  expect(worker.sent).toEqual([]);
});
