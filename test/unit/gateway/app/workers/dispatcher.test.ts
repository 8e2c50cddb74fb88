/** Which worker gets a connection, and what becomes of connections that none takes. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  type ConnectionTaker,
  Dispatcher,
} from '../../../../../src/gateway/app/workers/dispatcher.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const tick = () => vi.advanceTimersByTimeAsync(0);

function connection() {
  return { destroy: vi.fn() } as unknown as Socket & { destroy: ReturnType<typeof vi.fn> };
}

class FakeTaker implements ConnectionTaker {
  isAnswering = true;
  readonly taken: string[] = [];
  #answer: ((isTaken: boolean) => void) | undefined;

  take(port: string): Promise<boolean> {
    this.taken.push(port);
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  async answers(isTaken = true): Promise<void> {
    this.#answer?.(isTaken);
    await tick();
  }
}

test('workers get connections in turn, one at a time', async () => {
  const dispatcher = new Dispatcher();
  const [a, b] = [new FakeTaker(), new FakeTaker()];
  dispatcher.add(a);
  dispatcher.add(b);
  for (const port of ['1', '2', '3', '4']) dispatcher.dispatch(port, connection());
  expect([a.taken, b.taken]).toEqual([['1'], ['2']]);
  await b.answers();
  expect([a.taken, b.taken]).toEqual([['1'], ['2', '3']]);
  await a.answers();
  expect([a.taken, b.taken]).toEqual([
    ['1', '4'],
    ['2', '3'],
  ]);
});

test('the supervisor frees a connection once a worker has taken it, and not before', async () => {
  const dispatcher = new Dispatcher();
  const worker = new FakeTaker();
  const first = connection();
  dispatcher.add(worker);
  dispatcher.dispatch('check', first);
  expect(first.destroy).not.toHaveBeenCalled();
  await worker.answers();
  expect(first.destroy).toHaveBeenCalledOnce();
});

test('a connection that a worker does not take goes to another one first', async () => {
  const dispatcher = new Dispatcher();
  const [closing, next] = [new FakeTaker(), new FakeTaker()];
  dispatcher.add(closing);
  const left = connection();
  dispatcher.dispatch('left', left);
  dispatcher.dispatch('later', connection());
  await closing.answers(false);
  expect(left.destroy).not.toHaveBeenCalled();
  dispatcher.add(next);
  expect(next.taken).toEqual(['left']);
  await next.answers();
  expect(next.taken).toEqual(['left', 'later']);
  expect(closing.taken).toEqual(['left']);
});

test('a worker that does not answer any more gets no connection', () => {
  const dispatcher = new Dispatcher();
  const [gone, next] = [new FakeTaker(), new FakeTaker()];
  dispatcher.add(gone);
  gone.isAnswering = false;
  dispatcher.add(next);
  dispatcher.dispatch('check', connection());
  expect([gone.taken, next.taken]).toEqual([[], ['check']]);
});

test('while no worker takes connections, more than 1,024 do not wait', () => {
  const dispatcher = new Dispatcher();
  const all = Array.from({ length: 1_026 }, connection);
  for (const each of all) dispatcher.dispatch('check', each);
  const closed = all.map((each) => each.destroy.mock.calls.length);
  expect(closed).toEqual([1, 1, ...Array(1_024).fill(0)]);
});

test('Node keeps no count of connections that leave this process', () => {
  const dispatcher = new Dispatcher();
  const counted = Object.assign(connection(), { server: {} });
  dispatcher.dispatch('check', counted);
  expect(counted.server).toBeNull();
});

test('the end waits for connections on their way to a worker', async () => {
  const dispatcher = new Dispatcher();
  await dispatcher.emptied(1_000);
  const worker = new FakeTaker();
  dispatcher.add(worker);
  dispatcher.dispatch('check', connection());
  const onEmptied = vi.fn();
  void dispatcher.emptied(1_000).then(onEmptied);
  await tick();
  expect(onEmptied).not.toHaveBeenCalled();
  await worker.answers();
  expect(onEmptied).toHaveBeenCalledOnce();
});

test('the end closes connections that no worker takes in time', async () => {
  const dispatcher = new Dispatcher();
  const waiting = connection();
  dispatcher.dispatch('check', waiting);
  const onEmptied = vi.fn();
  void dispatcher.emptied(1_000).then(onEmptied);
  await vi.advanceTimersByTimeAsync(999);
  expect(waiting.destroy).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(waiting.destroy).toHaveBeenCalledOnce();
  expect(onEmptied).toHaveBeenCalledOnce();
});
