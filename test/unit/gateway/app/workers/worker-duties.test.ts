/** What a worker does with its gateway for its supervisor. */
import type { Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { PortlessGateway } from '../../../../../src/gateway/app/portless-gateway.ts';
import { workerDuties } from '../../../../../src/gateway/app/workers/worker.ts';
import { OperationError } from '../../../../../src/gateway/operations/operation-error.ts';
import { observedTelemetry } from '../../../../support/telemetry.ts';

const UNSEEN = [{ dialect: 'nginx', header: 'x-user', requests: 1_000 }];

function setUp(operate: () => Promise<unknown> = async () => 'done') {
  const { lines, telemetry } = observedTelemetry();
  const did: unknown[] = [];
  const gateway = {
    operate: vi.fn(operate),
    unseenHeaders: () => UNSEEN,
    isDegraded: () => true,
    take: (port: string) => port === 'check',
    drain: async (ms: number) => void did.push(['drain', ms]),
  };
  const duties = workerDuties({
    gateway: gateway as unknown as PortlessGateway,
    telemetry,
    reload: async () => void did.push('reload'),
    send: async (message) => void did.push(['send', message.type]),
    end: () => did.push('end'),
  });
  return { did, duties, gateway, lines, telemetry };
}

test('a report has the metrics of this process, the health of its store and its unseen headers', async () => {
  const { duties, telemetry } = setUp();
  telemetry.decisions.unmatched();
  const { metrics, degraded, unseenHeaders } = await duties.report();
  expect([degraded, unseenHeaders]).toEqual([true, UNSEEN]);
  const unmatched = metrics.find(({ name }) => name === 'headgate_unmatched_total');
  expect(unmatched?.values).toMatchObject([{ value: 1 }]);
});

test('a worker that stops drains, sends its last report, and ends', async () => {
  const { did, duties } = setUp();
  await duties.stop(70);
  expect(did).toEqual([['drain', 70], ['send', 'report'], 'end']);
});

test('a worker reloads, drains and takes connections on request', () => {
  const { did, duties } = setUp();
  duties.reload();
  duties.drain();
  expect(did).toEqual(['reload', ['drain', 0]]);
  const connection = {} as Socket;
  expect([duties.take('check', connection), duties.take('grpc', connection)]).toEqual([
    true,
    false,
  ]);
});

test('an operation has its result as outcome', async () => {
  const { duties, gateway } = setUp();
  expect(await duties.operate('block', { client: 'i.a' })).toEqual({ result: 'done' });
  expect(gateway.operate).toHaveBeenCalledWith('block', { client: 'i.a' });
});

test('an operation that is refused has the code and the message as outcome', async () => {
  const { duties, lines } = setUp(async () => {
    throw new OperationError('not_found', 'no such policy');
  });
  expect(await duties.operate('block', {})).toEqual({
    failure: { code: 'not_found', message: 'no such policy' },
  });
  expect(lines()).toEqual([]);
});

test('an operation that fails by a fault is logged, and its error is not passed on', async () => {
  const { duties, lines } = setUp(async () => {
    throw new Error('a bug');
  });
  expect(await duties.operate('block', {})).toEqual({
    failure: { code: 'internal_error', message: 'a fault in headgate: see its log' },
  });
  expect(lines()).toMatchObject([{ event: 'operation_failed', err: { message: 'a bug' } }]);
});
