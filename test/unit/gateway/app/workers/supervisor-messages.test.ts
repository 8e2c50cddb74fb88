/** What a worker does for each message of its supervisor. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WorkerMessage } from '../../../../../src/gateway/app/workers/messages.ts';
import { messageHandler } from '../../../../../src/gateway/app/workers/worker.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000 }));
afterEach(() => void vi.useRealTimers());

const CONNECTION = { type: 'connection', id: 7, port: 'check', beforeMs: 1_000 } as const;
const REPORT = { metrics: [], degraded: false, unseenHeaders: [] };

function setUp({ takes = true } = {}) {
  const sent: WorkerMessage[] = [];
  const duties = {
    report: vi.fn(async () => REPORT),
    reload: vi.fn(),
    operate: vi.fn(async (name: string, input: unknown) => ({ result: [name, input] })),
    take: vi.fn(() => takes),
    drain: vi.fn(),
    stop: vi.fn(async () => {}),
  };
  const handle = messageHandler(duties, async (message) => void sent.push(message));
  const called = () =>
    Object.entries(duties).flatMap(([name, duty]) =>
      duty.mock.calls.map((args) => [name, ...args]),
    );
  return { called, handle, sent };
}

test('a report is sent', async () => {
  const { called, handle, sent } = setUp();
  await handle({ type: 'report' });
  expect(called()).toEqual([['report']]);
  expect(sent).toEqual([{ type: 'report', report: REPORT }]);
});

test.each([
  [{ type: 'reload' } as const, ['reload']],
  [{ type: 'drain' } as const, ['drain']],
  [{ type: 'stop', drainMs: 70 } as const, ['stop', 70]],
])('%j is done without an answer', async (message, call) => {
  const { called, handle, sent } = setUp();
  await handle(message);
  expect(called()).toEqual([call]);
  expect(sent).toEqual([]);
});

test('an operation is run and answered, unless it is too late for it', async () => {
  const { called, handle, sent } = setUp();
  const operation = { type: 'operate', id: 5, name: 'block', input: { a: 1 } } as const;
  await handle({ ...operation, beforeMs: 999 });
  expect([called(), sent]).toEqual([[], []]);
  await handle({ ...operation, beforeMs: 1_000 });
  expect(called()).toEqual([['operate', 'block', { a: 1 }]]);
  expect(sent).toEqual([{ type: 'operated', id: 5, outcome: { result: ['block', { a: 1 }] } }]);
});

test('a connection is taken', async () => {
  const { called, handle, sent } = setUp();
  const connection = { destroy: vi.fn() };
  await handle({ ...CONNECTION, port: 'grpc' }, connection as unknown as Socket);
  expect(called()).toEqual([['take', 'grpc', connection]]);
  expect(connection.destroy).not.toHaveBeenCalled();
  expect(sent).toEqual([{ type: 'connection', id: 7, isTaken: true }]);
});

test('a connection that a closing worker does not take is freed', async () => {
  const { handle, sent } = setUp({ takes: false });
  const connection = { destroy: vi.fn() };
  await handle(CONNECTION, connection as unknown as Socket);
  expect(connection.destroy).toHaveBeenCalledOnce();
  expect(sent).toEqual([{ type: 'connection', id: 7, isTaken: false }]);
});

test('a connection that comes too late is freed, because another worker has it', async () => {
  const { called, handle, sent } = setUp();
  const connection = { destroy: vi.fn() };
  await handle({ ...CONNECTION, beforeMs: 999 }, connection as unknown as Socket);
  expect(called()).toEqual([]);
  expect(connection.destroy).toHaveBeenCalledOnce();
  expect(sent).toEqual([{ type: 'connection', id: 7, isTaken: false }]);
});

test('a ping is answered', async () => {
  const { called, handle, sent } = setUp();
  await handle({ type: 'ping' });
  expect([called(), sent]).toEqual([[], [{ type: 'pong' }]]);
});

test('a connection that was closed on the way counts as taken', async () => {
  const { called, handle, sent } = setUp({ takes: false });
  await handle(CONNECTION);
  expect(called()).toEqual([]);
  expect(sent).toEqual([{ type: 'connection', id: 7, isTaken: true }]);
});
