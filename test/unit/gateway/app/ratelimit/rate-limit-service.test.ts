import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rateLimitService } from '../../../../../src/gateway/app/ratelimit/rate-limit-service.ts';
import { Arrivals } from '../../../../../src/gateway/server/arrivals.ts';
import {
  FAULT,
  type GrpcStatus,
  MALFORMED,
} from '../../../../../src/gateway/server/grpc/status.ts';
import { field } from '../../../../support/grpc-frames.ts';

const NOISE = Buffer.from([0x02, 0x01, 0x00]);
const CALL = field(1, Buffer.from('edge'));
/** Longer than the event loop may take without being late. */
const BUSY_MS = 10;

function serviceOf() {
  const faults: string[] = [];
  const failed: GrpcStatus[] = [];
  const service = rateLimitService({
    limiting: {
      answer() {
        throw new Error('the rules are broken');
      },
    },
    arrivals: new Arrivals(() => {}),
    events: { checkFailed: (_, error) => faults.push((error as Error).message) },
    onDecided: () => {},
  });
  const call = { isGone: false, answer() {}, fail: (status: GrpcStatus) => failed.push(status) };
  return { faults, failed, send: (message: Buffer) => service.handle(call, message) };
}

function busyForMs(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

test.each([
  ['a message that is malformed', NOISE, MALFORMED, []],
  ['a call that cannot be answered because of a fault', CALL, FAULT, ['the rules are broken']],
])('refuses %s, at once and while the event loop is late', async (_, message, status, faults) => {
  const once = serviceOf();
  once.send(message);
  expect([once.failed, once.faults]).toEqual([[status], faults]);

  const late = serviceOf();
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
});
