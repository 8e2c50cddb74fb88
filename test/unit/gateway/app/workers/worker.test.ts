/** What a worker does for each message of its supervisor. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WorkerMessage } from '../../../../../src/gateway/app/workers/messages.ts';
import { messageHandler } from '../../../../../src/gateway/app/workers/worker.ts';
import { OperationError } from '../../../../../src/gateway/operations/operation-error.ts';
import { observedTelemetry } from '../../../../support/telemetry.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000 }));
afterEach(() => void vi.useRealTimers());

const UNSEEN = [{ dialect: 'nginx', header: 'x-user', requests: 1_000 }];
const CONNECTION = { type: 'connection', id: 7, port: 'check', beforeMs: 1_000 } as const;
const BLOCK = { type: 'operate', id: 5, name: 'block', input: { a: 1 }, beforeMs: 1_000 } as const;

interface Given {
  readonly takes?: boolean;
  readonly operate?: () => Promise<unknown>;
}

function setUp({ takes = true, operate = async () => 'done' }: Given = {}) {
  const { lines, telemetry } = observedTelemetry();
  const sent: WorkerMessage[] = [];
  const did: unknown[] = [];
  const gateway = {
    operate: vi.fn(operate),
    health: () => ({ degraded: true, unseenHeaders: UNSEEN, unsettledPolicies: ['login'] }),
    take: vi.fn(() => takes),
    drain: async (ms: number) => void did.push(['drain', ms]),
  };
  const handle = messageHandler(
    {
      gateway,
      telemetry,
      reload: async () => void did.push('reload'),
      end: () => did.push('end'),
    },
    async (message) => {
      sent.push(message);
      did.push(['send', message.type]);
    },
  );
  return { did, gateway, handle, lines, sent, telemetry };
}

test('a report has the metrics of this process, the health of its store and its unseen headers', async () => {
  const { handle, sent, telemetry } = setUp();
  telemetry.decisions.unmatched();
  await handle({ type: 'report' });
  expect(sent).toMatchObject([
    { type: 'report', report: { degraded: true, unseenHeaders: UNSEEN } },
  ]);
  const [report] = sent.flatMap((each) => (each.type === 'report' ? each.report : []));
  const unmatched = report?.metrics.find(({ name }) => name === 'headgate_unmatched_total');
  expect(unmatched?.values).toMatchObject([{ value: 1 }]);
});

test('a worker that stops drains, sends its last report, and ends', async () => {
  const { did, handle } = setUp();
  await handle({ type: 'stop', drainMs: 70 });
  expect(did).toEqual([['drain', 70], ['send', 'report'], 'end']);
});

test('a worker reloads and drains without an answer', async () => {
  const { did, handle } = setUp();
  await handle({ type: 'reload' });
  await handle({ type: 'drain' });
  expect(did).toEqual(['reload', ['drain', 0]]);
});

test('an operation is run and answered, unless it is too late for it', async () => {
  const { gateway, handle, sent } = setUp();
  await handle({ ...BLOCK, beforeMs: 999 });
  expect([gateway.operate.mock.calls, sent]).toEqual([[], []]);
  await handle(BLOCK);
  expect(gateway.operate.mock.calls).toEqual([['block', { a: 1 }]]);
  expect(sent).toEqual([{ type: 'operated', id: 5, outcome: { result: 'done' } }]);
});

test('an operation that is refused has the code and the message as outcome', async () => {
  const operate = async () => {
    throw new OperationError('not_found', 'no such policy');
  };
  const { handle, lines, sent } = setUp({ operate });
  await handle(BLOCK);
  const failure = { code: 'not_found', message: 'no such policy' };
  expect(sent).toEqual([{ type: 'operated', id: 5, outcome: { failure } }]);
  expect(lines()).toEqual([]);
});

test('an operation that fails by a fault is logged, and its error is not passed on', async () => {
  const operate = async () => {
    throw new Error('a bug');
  };
  const { handle, lines, sent } = setUp({ operate });
  await handle(BLOCK);
  const failure = { code: 'internal_error', message: 'a fault in headgate: see its log' };
  expect(sent).toEqual([{ type: 'operated', id: 5, outcome: { failure } }]);
  expect(lines()).toMatchObject([{ event: 'operation_failed', err: { message: 'a bug' } }]);
});

test('a connection is taken', async () => {
  const { gateway, handle, sent } = setUp();
  const connection = { destroy: vi.fn() };
  await handle({ ...CONNECTION, port: 'grpc' }, connection as unknown as Socket);
  expect(gateway.take.mock.calls).toEqual([['grpc', connection]]);
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
  const { gateway, handle, sent } = setUp();
  const connection = { destroy: vi.fn() };
  await handle({ ...CONNECTION, beforeMs: 999 }, connection as unknown as Socket);
  expect(gateway.take).not.toHaveBeenCalled();
  expect(connection.destroy).toHaveBeenCalledOnce();
  expect(sent).toEqual([{ type: 'connection', id: 7, isTaken: false }]);
});

test('a ping is answered', async () => {
  const { handle, sent } = setUp();
  await handle({ type: 'ping' });
  expect(sent).toEqual([{ type: 'pong' }]);
});

test('a connection that was closed on the way counts as taken', async () => {
  const { gateway, handle, sent } = setUp({ takes: false });
  await handle(CONNECTION);
  expect(gateway.take).not.toHaveBeenCalled();
  expect(sent).toEqual([{ type: 'connection', id: 7, isTaken: true }]);
});
