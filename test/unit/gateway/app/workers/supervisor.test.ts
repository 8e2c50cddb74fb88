/** How workers are started, replaced and stopped. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Supervisor } from '../../../../../src/gateway/app/workers/supervisor.ts';
import { WorkerHandle } from '../../../../../src/gateway/app/workers/worker-handle.ts';
import { FakeWorker } from '../../../../support/fake-worker.ts';

// Fake timers do not reach this module by themselves.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number, value?: unknown) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms, value);
    }),
}));

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const pass = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
const report = (degraded: boolean) => ({
  metrics: [],
  degraded,
  unseenHeaders: [],
  unsettledPolicies: [],
});

/** Workers that were started, in this order; `slots` are theirs. */
function setUp(workers = 2) {
  const started: FakeWorker[] = [];
  const slots: number[] = [];
  const onLost = vi.fn();
  const onEnded = vi.fn();
  const onUnresponsive = vi.fn();
  const onResponding = vi.fn();
  const supervisor = new Supervisor({
    workers,
    drainMs: 100,
    endWithinMs: 50,
    onLost,
    onEnded,
    onUnresponsive,
    onResponding,
    startWorker(slot) {
      const worker = new FakeWorker(started.push(new FakeWorker()));
      started[started.length - 1] = worker;
      slots.push(slot);
      return new WorkerHandle(slot, worker.asForked);
    },
  });
  const nth = (index: number) => started[index] as FakeWorker;
  return { nth, onEnded, onLost, onResponding, onUnresponsive, slots, started, supervisor };
}

async function setUpRunning() {
  const lab = setUp();
  const start = lab.supervisor.start();
  lab.nth(0).says({ type: 'ready', store: 'counts' });
  await pass();
  lab.nth(1).says({ type: 'ready', store: 'counts' });
  await start;
  return lab;
}

test('the first worker starts alone, and the others once it answers', async () => {
  const { nth, slots, started, supervisor } = setUp(3);
  const onStart = vi.fn();
  void supervisor.start().then(onStart);
  await pass();
  expect(started).toHaveLength(1);
  expect(supervisor.isAnswering).toBe(false);
  nth(0).says({ type: 'ready', store: 'refuses' });
  await pass();
  expect(slots).toEqual([0, 1, 2]);
  expect(supervisor.isAnswering).toBe(true);
  nth(1).says({ type: 'ready', store: 'counts' });
  await pass();
  expect(onStart).not.toHaveBeenCalled();
  nth(2).says({ type: 'ready', store: 'counts' });
  await pass();
  expect(onStart).toHaveBeenCalledWith('refuses');
});

test('the start fails, without a second try, if a worker ends before it answers', async () => {
  const { nth, onLost, started, supervisor } = setUp();
  const start = expect(supervisor.start()).rejects.toMatchObject({ exitCode: 3 });
  nth(0).exits(3);
  await start;
  await pass(60_000);
  expect(started).toHaveLength(1);
  expect(onLost).not.toHaveBeenCalled();
});

test('a lost worker is reported, and replaced in its slot after 50 milliseconds', async () => {
  const { nth, onEnded, onLost, slots, supervisor } = await setUpRunning();
  nth(1).says({ type: 'report', report: report(true) });
  expect(supervisor.lastReports).toEqual([report(true)]);
  nth(1).exits(null, 'SIGSEGV');
  await pass();
  expect(onLost.mock.calls).toEqual([[2, 'SIGSEGV']]);
  expect(onEnded.mock.calls).toEqual([[report(true)]]);
  expect(supervisor.lastReports).toEqual([]);
  await pass(49);
  expect(slots).toEqual([0, 1]);
  await pass(1);
  expect(slots).toEqual([0, 1, 1]);
});

test('workers that are lost one after the other are replaced ever more slowly, up to 5 seconds', async () => {
  const { nth, started } = await setUpRunning();
  const delays: number[] = [];
  for (let losses = 0; losses < 9; losses++) {
    const before = started.length;
    nth(before - 1).says({ type: 'ready', store: 'counts' });
    await pass();
    nth(before - 1).exits(1);
    let waitedMs = 0;
    while (started.length === before) {
      await pass(50);
      waitedMs += 50;
    }
    delays.push(waitedMs);
  }
  expect(delays).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  nth(started.length - 1).says({ type: 'ready', store: 'counts' });
  await pass(60_000);
  const before = started.length;
  nth(before - 1).exits(1);
  await pass(50);
  expect(started).toHaveLength(before + 1);
});

test('a replacement that does not start is tried again', async () => {
  const { nth, onLost, started } = await setUpRunning();
  nth(1).exits(1);
  await pass(50);
  nth(2).exits(3);
  await pass(100);
  expect(started).toHaveLength(4);
  expect(onLost).toHaveBeenCalledOnce();
});

test('workers are replaced one by one: a new one answers before the old one stops', async () => {
  const { nth, onLost, slots, supervisor } = await setUpRunning();
  const onReplaced = vi.fn();
  void supervisor.replaceAll().then(onReplaced);
  await pass();
  expect(slots).toEqual([0, 1, 0]);
  expect(nth(0).sent).toEqual([]);
  nth(2).says({ type: 'ready', store: 'counts' });
  await pass();
  expect(nth(0).sent).toEqual([{ type: 'stop', drainMs: 100 }]);
  expect(slots).toHaveLength(3);
  nth(0).exits(0);
  await pass();
  expect(slots).toEqual([0, 1, 0, 1]);
  nth(3).says({ type: 'ready', store: 'counts' });
  await pass();
  nth(1).exits(0);
  await pass();
  expect(onReplaced).toHaveBeenCalledWith(true);
  expect(onLost).not.toHaveBeenCalled();
});

test('if a new worker does not start, the old ones stay', async () => {
  const { nth, slots, supervisor } = await setUpRunning();
  const replaced = expect(supervisor.replaceAll()).rejects.toMatchObject({ exitCode: 3 });
  await pass();
  nth(2).exits(3);
  await replaced;
  expect(slots).toEqual([0, 1, 0]);
  expect([nth(0).sent, nth(1).sent]).toEqual([[], []]);
  expect(supervisor.isAnswering).toBe(true);
});

test('a worker that was lost meanwhile is not replaced twice', async () => {
  const { nth, slots, supervisor } = await setUpRunning();
  const replaced = supervisor.replaceAll();
  await pass();
  nth(1).exits(1);
  nth(2).says({ type: 'ready', store: 'counts' });
  await pass();
  nth(0).exits(0);
  expect(await replaced).toBe(true);
  await pass(50);
  expect(slots).toEqual([0, 1, 0, 1]);
});

test('a replacement ends when the supervisor stops', async () => {
  const { nth, slots, supervisor } = await setUpRunning();
  const replaced = supervisor.replaceAll();
  await pass();
  supervisor.drain();
  nth(2).exits(0);
  expect(await replaced).toBe(false);
  expect(slots).toHaveLength(3);
});

test('an operation runs in the first worker that does not hang', async () => {
  const { nth, supervisor } = await setUpRunning();
  const outcome = supervisor.operate('stats', {});
  await pass(3_000);
  nth(1).says({ type: 'operated', id: 1, outcome: { result: 1 } });
  expect(await outcome).toEqual({ result: 1 });
  const quick = supervisor.operate('stats', {});
  nth(0).says({ type: 'operated', id: 2, outcome: { result: 2 } });
  expect(await quick).toEqual({ result: 2 });
  expect(nth(1).sent).toHaveLength(1);
});

test('an operation has no outcome if all workers hang', async () => {
  const { supervisor } = await setUpRunning();
  const outcome = supervisor.operate('stats', {});
  await pass(6_000);
  expect(await outcome).toBeUndefined();
});

test('a worker that hangs for 3 seconds is named, gets no connections, and gets some again when it responds', async () => {
  const { nth, onResponding, onUnresponsive, supervisor } = await setUpRunning();
  nth(0).responds = false;
  await pass(4_000);
  expect(onUnresponsive.mock.calls).toEqual([[1]]);
  expect(supervisor.unresponsive).toEqual([1]);
  expect(supervisor.isAnswering).toBe(true);
  const connection = { destroy: vi.fn() } as unknown as Socket;
  supervisor.dispatch('check', connection);
  expect([nth(0).sent, nth(1).sent.map(({ type }) => type)]).toEqual([[], ['connection']]);
  nth(0).responds = true;
  await pass(1_000);
  expect(onResponding.mock.calls).toEqual([[1]]);
  expect(supervisor.unresponsive).toEqual([]);
  supervisor.dispatch('check', connection);
  expect(nth(0).sent.map(({ type }) => type)).toEqual(['connection']);
});

test('a connection that a worker does not take in time goes to another one', async () => {
  const { nth, supervisor } = await setUpRunning();
  const connection = { destroy: vi.fn() } as unknown as Socket;
  supervisor.dispatch('check', connection);
  await pass(2_999);
  expect(nth(1).sent).toEqual([]);
  await pass(1);
  const [first] = nth(0).sent;
  expect(first).toMatchObject({ id: 1, beforeMs: 2_000 });
  expect(nth(1).sent).toMatchObject([{ type: 'connection', port: 'check' }]);
  // The other worker has it by now.
  nth(0).says({ type: 'connection', id: 1, isTaken: false });
  nth(1).says({ type: 'connection', id: 1, isTaken: true });
  await pass();
  expect(connection.destroy).toHaveBeenCalledOnce();
});

test('a worker that hangs for 15 seconds is killed, and replaced as a lost one', async () => {
  const { nth, onLost, slots, supervisor } = await setUpRunning();
  nth(1).responds = false;
  await pass(15_000);
  expect(nth(1).signals).toEqual([]);
  await pass(1_000);
  expect(nth(1).signals).toEqual(['SIGKILL']);
  nth(1).exits(null, 'SIGKILL');
  await pass(50);
  expect(onLost.mock.calls).toEqual([[2, 'SIGKILL']]);
  expect(supervisor.unresponsive).toEqual([]);
  expect(slots).toEqual([0, 1, 1]);
});

test('a worker that has not answered yet is not asked whether it responds', async () => {
  const { nth, onUnresponsive, supervisor } = setUp();
  void supervisor.start();
  nth(0).responds = false;
  await pass(20_000);
  expect([nth(0).signals, onUnresponsive.mock.calls]).toEqual([[], []]);
  nth(0).says({ type: 'ready', store: 'counts' });
  await pass(3_000);
  expect(onUnresponsive).not.toHaveBeenCalled();
  await pass(1_000);
  expect(onUnresponsive.mock.calls).toEqual([[1]]);
});

test('reports, reloads and drains go to every worker', async () => {
  const { nth, supervisor } = await setUpRunning();
  const collected = supervisor.collectReports();
  supervisor.reload();
  supervisor.drain();
  for (const worker of [nth(0), nth(1)]) {
    expect(worker.sent).toEqual([{ type: 'report' }, { type: 'reload' }, { type: 'drain' }]);
    worker.says({ type: 'report', report: report(false) });
  }
  await collected;
  expect(supervisor.lastReports).toEqual([report(false), report(false)]);
});

test('the end stops every worker, replaces none, and closes what no worker takes', async () => {
  const { nth, onLost, slots, supervisor } = await setUpRunning();
  const connection = { destroy: vi.fn() } as unknown as Socket;
  supervisor.dispatch('check', connection);
  const onStopped = vi.fn();
  void supervisor.stop().then(onStopped);
  await pass(999);
  expect(nth(0).sent.map(({ type }) => type)).toEqual(['connection']);
  await pass(1);
  for (const worker of [nth(0), nth(1)]) {
    expect(worker.sent.at(-1)).toEqual({ type: 'stop', drainMs: 0 });
    worker.exits(0);
  }
  await pass();
  expect(onStopped).toHaveBeenCalledOnce();
  await pass(60_000);
  expect(slots).toHaveLength(2);
  expect(onLost).not.toHaveBeenCalled();
});
