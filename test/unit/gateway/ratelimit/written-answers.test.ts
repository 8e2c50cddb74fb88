/** An answer in protobuf, byte by byte, and the same in JSON: which fields are there, and which are left out. */
import { describe, expect, test } from 'vitest';
import type { DescriptorStatus, RateLimitAnswer } from '../../../../src/gateway/ratelimit/call.ts';
import { writeJsonAnswer } from '../../../../src/gateway/ratelimit/messages/json.ts';
import { writeResponse } from '../../../../src/gateway/ratelimit/messages/response.ts';
import { field } from '../../../support/grpc-frames.ts';

const NOTHING: RateLimitAnswer = {
  isOverLimit: false,
  statuses: [],
  headers: [],
  body: '',
  metadata: undefined,
};
const FREE: DescriptorStatus = {
  isOverLimit: false,
  limit: undefined,
  remaining: 0,
  resetAfter: 0,
};
const LIMIT = { requestsPerUnit: 5, unit: 'minute', unitMultiplier: undefined, name: undefined };
const statusOf = (parts: object) => ({ ...FREE, ...parts }) as DescriptorStatus;
const bytes = (...values: number[]) => Buffer.from(values);
const text = (value: string) => Buffer.from(value);
/** The field of a code: 1 within its limits, 2 over them. */
const code = (value: number) => bytes(8, value);

type Case = readonly [what: string, status: DescriptorStatus, message: Buffer, json: object];

const CASES: readonly Case[] = [
  ['without a limit', FREE, code(1), { code: 'OK' }],
  [
    'without a limit, with a time that means nothing',
    statusOf({ resetAfter: 7 }),
    code(1),
    { code: 'OK' },
  ],
  [
    'unlimited',
    statusOf({ remaining: 1 }),
    Buffer.concat([code(1), bytes(24, 1)]),
    { code: 'OK', limitRemaining: 1 },
  ],
  [
    'over its limit',
    statusOf({ isOverLimit: true, limit: LIMIT, resetAfter: 60 }),
    Buffer.concat([code(2), field(2, bytes(8, 5, 16, 2)), field(4, bytes(8, 60))]),
    {
      code: 'OVER_LIMIT',
      currentLimit: { requestsPerUnit: 5, unit: 'MINUTE' },
      durationUntilReset: '60s',
    },
  ],
  [
    'with all that a limit can have',
    statusOf({
      limit: { ...LIMIT, unit: 'day', unitMultiplier: 3, name: 'login' },
      ...{ remaining: 4, resetAfter: 1 },
    }),
    Buffer.concat([
      code(1),
      field(2, bytes(8, 5, 16, 4), field(3, text('login')), field(4, bytes(8, 3))),
      bytes(24, 4),
      field(4, bytes(8, 1)),
    ]),
    {
      code: 'OK',
      currentLimit: { requestsPerUnit: 5, unit: 'DAY', unitMultiplier: 3, name: 'login' },
      limitRemaining: 4,
      durationUntilReset: '1s',
    },
  ],
  [
    'with a limit of 0 that resets now',
    statusOf({ isOverLimit: true, limit: { ...LIMIT, requestsPerUnit: 0 } }),
    Buffer.concat([code(2), field(2, bytes(16, 2)), field(4)]),
    { code: 'OVER_LIMIT', currentLimit: { unit: 'MINUTE' }, durationUntilReset: '0s' },
  ],
];

describe('a status', () => {
  test.each(CASES)('%s', (_, status, message, json) => {
    const answer = { ...NOTHING, statuses: [status] };
    expect(Buffer.from(writeResponse(answer), 'latin1')).toEqual(
      Buffer.concat([code(1), field(2, message)]),
    );
    expect(JSON.parse(writeJsonAnswer(answer)).statuses).toEqual([json]);
  });

  test('stands where its descriptor stands', () => {
    const statuses = [FREE, statusOf({ isOverLimit: true }), FREE];
    const answer = { ...NOTHING, isOverLimit: true, statuses };
    expect(Buffer.from(writeResponse(answer), 'latin1')).toEqual(
      Buffer.concat([code(2), field(2, code(1)), field(2, code(2)), field(2, code(1))]),
    );
    expect(JSON.parse(writeJsonAnswer(answer))).toEqual({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OK' }, { code: 'OVER_LIMIT' }, { code: 'OK' }],
    });
  });
});

describe('an answer', () => {
  test('with nothing to say has a code', () => {
    expect(writeResponse(NOTHING)).toBe('\b\u0001');
    expect(writeJsonAnswer(NOTHING)).toBe('{"overallCode":"OK","statuses":[]}');
  });

  test('has headers in order, a body and metadata', () => {
    const answer = {
      ...NOTHING,
      headers: ['x-a', '1', 'x-b', 'ä'],
      body: 'too many',
      metadata: { a: 'b', yes: true, no: false, half: 0.5, none: null, list: ['a'], in: { c: '' } },
    };
    const entry = (name: string, value: Buffer) => field(1, field(1, text(name)), field(2, value));
    expect(Buffer.from(writeResponse(answer), 'latin1')).toEqual(
      Buffer.concat([
        code(1),
        field(3, field(1, text('x-a')), field(2, text('1'))),
        field(3, field(1, text('x-b')), field(2, text('ä'))),
        field(5, text('too many')),
        field(
          6,
          entry('a', field(3, text('b'))),
          entry('yes', bytes(32, 1)),
          entry('no', bytes(32, 0)),
          entry('half', bytes(17, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f)),
          entry('none', bytes(8, 0)),
          entry('list', field(6, field(1, field(3, text('a'))))),
          entry('in', field(5, entry('c', field(3)))),
        ),
      ]),
    );
    expect(JSON.parse(writeJsonAnswer(answer))).toEqual({
      overallCode: 'OK',
      statuses: [],
      responseHeadersToAdd: [
        { key: 'x-a', value: '1' },
        { key: 'x-b', value: 'ä' },
      ],
      rawBody: 'dG9vIG1hbnk=',
      dynamicMetadata: answer.metadata,
    });
  });
});
