import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rateLimitService } from '../../../../../src/gateway/app/ratelimit/rate-limit-service.ts';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';
import {
  FAULT,
  type GrpcStatus,
  MALFORMED,
} from '../../../../../src/gateway/server/grpc/status.ts';
import { Arrivals, createHandler } from '../../../../../src/gateway/server/handler.ts';
import { field } from '../../../../support/grpc-frames.ts';

const NOISE = Buffer.from([0x02, 0x01, 0x00]);
const CALL = field(1, Buffer.from('edge'));
/** Longer than the event loop may take without being late. */
const BUSY_MS = 10;

function serviceOf(error: Error) {
  const faults: string[] = [];
  const failed: GrpcStatus[] = [];
  const service = rateLimitService({
    answer() {
      throw error;
    },
    handle: createHandler({
      arrivals: new Arrivals(() => {}),
      onDecided: () => {},
      onFault: (_, error) => faults.push((error as Error).message),
    }),
  });
  const call = { isGone: false, answer() {}, fail: (status: GrpcStatus) => failed.push(status) };
  return { faults, failed, send: (message: Buffer) => service.handle(call, message, {}) };
}

function busyForMs(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

const BROKEN = new Error('the rules are broken');
const LATE = new StoreError('timeout', 'late');
const UNAVAILABLE = { code: 14, message: 'The store failed.' };

test.each([
  {
    what: 'a message that is malformed',
    message: NOISE,
    error: BROKEN,
    status: MALFORMED,
    faults: [],
  },
  {
    what: 'a call that a fault keeps from its answer',
    message: CALL,
    error: BROKEN,
    status: FAULT,
    faults: [BROKEN.message],
  },
  { what: 'a call without the store', message: CALL, error: LATE, status: UNAVAILABLE, faults: [] },
])(
  'refuses $what, at once and while the event loop is late',
  async ({ message, error, status, faults }) => {
    const once = serviceOf(error);
    once.send(message);
    expect([once.failed, once.faults]).toEqual([[status], faults]);

    const late = serviceOf(error);
    late.send(message);
    busyForMs(BUSY_MS);
    late.send(message);
    expect(late.failed).toEqual([status]);
    await nextTurn();
    await nextTurn();
    expect([late.failed, late.faults]).toEqual([
      [status, status],
      [...faults, ...faults],
    ]);
  },
);
