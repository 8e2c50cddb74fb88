/**
 * Calls in JSON. The rows are the cases of the tests of envoyproxy/ratelimit (test/server/server_impl_test.go,
 * TestJsonHandler), which answers 400 also if the service fails.
 */
import { expect, test } from 'vitest';
import { rateLimitService } from '../../../../src/gateway/app/ratelimit/rate-limit-service.ts';
import { EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import {
  type RateLimitAnswer,
  type RateLimitCall,
  RefusedCall,
} from '../../../../src/gateway/ratelimit/call.ts';
import { Arrivals, createHandler } from '../../../../src/gateway/server/handler.ts';

const CALL = '{"domain": "foo"}';
const OK: RateLimitAnswer = {
  isOverLimit: false,
  statuses: [{ isOverLimit: false, limit: undefined, remaining: 0, resetAfter: 0 }],
  headers: [],
  body: '',
  metadata: undefined,
};
const OVER: RateLimitAnswer = { ...OK, isOverLimit: true };

async function answerTo(written: string, service: () => RateLimitAnswer) {
  const calls: RateLimitCall[] = [];
  const faults: unknown[] = [];
  let decided = 0;
  const { answerJson } = rateLimitService({
    answer(call) {
      calls.push(call);
      return Promise.resolve().then(() => ({ answer: service(), decision: EXEMPT }));
    },
    handle: createHandler({
      arrivals: new Arrivals(() => {}),
      onDecided: () => decided++,
      onFault: (_dialect, error) => faults.push(error),
    }),
  });
  const { status, body } = await answerJson(written, {});
  return { status, body: JSON.parse(body), calls, decided, faults: faults.length };
}

const failing = (error: Error) => () => {
  throw error;
};

test.each([
  { what: 'a call within its limits', service: () => OK, status: 200, code: 'OK' },
  { what: 'a call over its limits', service: () => OVER, status: 429, code: 'OVER_LIMIT' },
])('$what: $status', async ({ service, status, code }) => {
  const answer = await answerTo(CALL, service);
  expect(answer).toMatchObject({
    status,
    body: { overallCode: code, statuses: [{ code: 'OK' }] },
    calls: [{ domain: 'foo', descriptors: [], hitsAddend: 0 }],
    decided: 1,
    faults: 0,
  });
});

test.each(['', '}', '[]', 'null', '"foo"', '{"domain": 1}', '{"domain": "foo"} {}'])(
  '%j is no call: 400, and the service is not asked',
  async (written) => {
    expect(await answerTo(written, () => OK)).toEqual({
      status: 400,
      body: { error: 'The body is not a RateLimitRequest in JSON.' },
      calls: [],
      decided: 0,
      faults: 0,
    });
  },
);

test.each([
  {
    what: 'a call that Envoy does not send',
    error: new RefusedCall('invalid_argument', 'No.'),
    status: 400,
    message: 'No.',
    faults: 0,
  },
  {
    what: 'no rules, or no store',
    error: new RefusedCall('unavailable', 'Later.'),
    status: 503,
    message: 'Later.',
    faults: 0,
  },
  {
    what: 'a fault',
    error: new TypeError('secret'),
    status: 500,
    message: 'The gateway failed.',
    faults: 1,
  },
])('$what: $status', async ({ error, status, message, faults }) => {
  expect(await answerTo(CALL, failing(error))).toMatchObject({
    status,
    body: { error: message },
    decided: 0,
    faults,
  });
});

const textOf = (call: object) => JSON.stringify({ domain: 'foo', ...call });
const many = <T>(count: number, each: T) => Array.from({ length: count }, () => each);

test('reads both spellings of every field, numbers as texts, units by name and number, and null as absent', async () => {
  const descriptors = [
    {
      entries: [{ key: 'a', value: null }],
      limit: { requests_per_unit: '7', unit: 'HOUR', unit_multiplier: '30' },
      hits_addend: '0',
      is_negative_hits: true,
    },
    {
      entries: null,
      limit: { requestsPerUnit: 7, unit: 3, unitMultiplier: 30 },
      hitsAddend: 2,
      isNegativeHits: null,
    },
    { limit: { unit: 'UNKNOWN', unitMultiplier: null } },
  ];
  const { calls } = await answerTo(textOf({ descriptors, hits_addend: 4_294_967_295 }), () => OK);
  const limit = { requestsPerUnit: 7, unit: 3, unitMultiplier: 30 };
  expect(calls).toEqual([
    {
      domain: 'foo',
      hitsAddend: 4_294_967_295,
      descriptors: [
        { entries: [{ key: 'a', value: '' }], limit, hitsAddend: 0, isNegativeHits: true },
        { entries: [], limit, hitsAddend: 2, isNegativeHits: false },
        {
          entries: [],
          limit: { requestsPerUnit: 0, unit: 0, unitMultiplier: undefined },
          hitsAddend: undefined,
          isNegativeHits: false,
        },
      ],
    },
  ]);
});

test.each([
  JSON.stringify({ hits_addend: -1 }),
  JSON.stringify({ hits_addend: 1.5 }),
  JSON.stringify({ hits_addend: 4_294_967_296 }),
  JSON.stringify({ hits_addend: '1e3' }),
  JSON.stringify({ hits_addend: '9'.repeat(400) }),
  JSON.stringify({ descriptors: {} }),
  JSON.stringify({ descriptors: [null] }),
  JSON.stringify({ descriptors: [{ entries: ['a'] }] }),
  JSON.stringify({ descriptors: [{ entries: [{ key: 1 }] }] }),
  JSON.stringify({ descriptors: [{ limit: { unit: 'hour' } }] }),
  JSON.stringify({ descriptors: [{ limit: { unit_multiplier: 4_294_967_296 } }] }),
  JSON.stringify({ descriptors: [{ limit: { unit_multiplier: { value: 1 } } }] }),
  JSON.stringify({ descriptors: [{ is_negative_hits: 1 }] }),
  JSON.stringify({ descriptors: [{ key: 'a' }] }),
  JSON.stringify({ constructor: 1 }),
  '{"__proto__":1}',
])('%s is no call: 400', async (written) => {
  const { status, calls } = await answerTo(written, () => OK);
  expect([status, calls]).toEqual([400, []]);
});

test.each([
  {
    what: '128 descriptors of 128 entries',
    call: { descriptors: many(128, { entries: many(128, {}) }) },
    status: 200,
    error: undefined,
  },
  {
    what: '129 descriptors',
    call: { descriptors: many(129, {}) },
    status: 400,
    error: 'The call has more than 128 descriptors.',
  },
  {
    what: 'a descriptor of 129 entries',
    call: { descriptors: [{ entries: many(129, {}) }] },
    status: 400,
    error: 'A descriptor has more than 128 entries.',
  },
])('$what: $status, as over gRPC', async ({ call, status, error }) => {
  const answer = await answerTo(textOf(call), () => OK);
  expect([answer.status, answer.body.error]).toEqual([status, error]);
});
