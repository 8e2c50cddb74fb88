import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Decision, EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import {
  Arrivals,
  type CheckHandlerOptions,
  createCheckHandler,
  createHandler,
  type Pending,
  type PendingCheck,
} from '../../../../src/gateway/server/handler.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS } from '../../../support/requests.ts';

const SET = policySetFrom('{ version: 1, default: { limits: [1/1h] } }');
let events: string[];
beforeEach(() => {
  events = [];
});

function handlerWith(check: CheckHandlerOptions['check']) {
  const handle = createHandler({
    arrivals: new Arrivals(() => events.push('abandoned')),
    onDecided: ({ reason }, dialect) => events.push(`decided ${reason} ${dialect}`),
    onFault: (_, error) => events.push(`fault ${(error as Error).message}`),
  });
  return createCheckHandler({
    handle,
    check,
    policies: { current: SET },
    now: () => NOON_MS,
    onMisconfigured: (dialect, missing) => events.push(`misconfigured ${dialect} ${missing}`),
    onParsed: (dialect) => events.push(`parsed ${dialect}`),
  });
}

function pending(parts: Partial<PendingCheck> = {}): PendingCheck {
  return {
    dialect: 'nginx',
    isGone: () => false,
    parse: () => checkRequest(),
    answer: ({ verdict }: Decision) => events.push(`answer ${verdict}`),
    fail: () => events.push('fail'),
    ...parts,
  };
}

const throws = (message: string) => () => {
  throw new Error(message);
};

describe('a check', () => {
  test('is answered at the end of the turn, by the policies and the time of its arrival', async () => {
    handlerWith((_, set, nowMs) => {
      expect([set, nowMs]).toEqual([SET, NOON_MS]);
      return EXEMPT;
    })(pending());
    expect(events).toEqual(['parsed nginx']);
    await nextTurn();
    expect(events).toEqual(['parsed nginx', 'answer allow', 'decided exempt nginx']);
  });

  test('is answered when its decision is there', async () => {
    handlerWith(async () => EXEMPT)(pending());
    await nextTurn();
    await nextTurn();
    expect(events).toEqual(['parsed nginx', 'answer allow', 'decided exempt nginx']);
  });

  test('without a header that the dialect requires is decided and reported', async () => {
    const parse = () => checkRequest({ missing: ['x-real-ip'] });
    handlerWith(() => EXEMPT)(pending({ parse }));
    await nextTurn();
    expect(events).toEqual([
      'misconfigured nginx x-real-ip',
      'answer allow',
      'decided exempt nginx',
    ]);
  });

  test.each([
    ['cannot be parsed', { parse: throws('bad') }, () => EXEMPT],
    ['cannot be decided', {}, throws('bad')],
    ['is decided by a store that throws', {}, async () => throws('bad')()],
    ['cannot be answered', { answer: throws('bad') }, () => EXEMPT],
  ] as const)('fails, and never counts as decided, if it %s', async (_, parts, check) => {
    handlerWith(check as CheckHandlerOptions['check'])(pending(parts));
    await nextTurn();
    await nextTurn();
    expect(events.filter((event) => event !== 'parsed nginx')).toEqual(['fail', 'fault bad']);
  });
});

describe('an answer', () => {
  // No turn is late.
  beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => 0));
  afterEach(() => void vi.restoreAllMocks());

  test('has the style of the policies that decided, also if others are loaded meanwhile', async () => {
    const styleOf = (reset: string) =>
      policySetFrom(`{ version: 1, default: { limits: [1/1h] }, answers: { reset: ${reset} } }`);
    const policies = { current: styleOf('epoch') };
    const seen: unknown[] = [];
    const handle = createCheckHandler({
      handle: createHandler({
        arrivals: new Arrivals(() => {}),
        onDecided: () => {},
        onFault: () => {},
      }),
      check: (_, set) => {
        seen.push(set.answers.reset);
        return EXEMPT;
      },
      policies,
      now: () => NOON_MS,
      onMisconfigured: () => {},
      onParsed: (_, request, set) => seen.push(request.target, set.answers.reset),
    });
    const parts = {
      parse: () => checkRequest({ target: '/a' }),
      answer: (_: Decision, { reset }: { reset: string }) => void seen.push(reset),
    };
    handle(pending(parts));
    policies.current = styleOf('delta');
    await nextTurn();
    expect(seen).toEqual(['/a', 'epoch', 'epoch', 'epoch']);
    handle(pending(parts));
    await nextTurn();
    expect(seen.slice(4)).toEqual(['/a', 'delta', 'delta', 'delta']);
  });
});

describe('what the handler reports', () => {
  let nowMs = 0;
  beforeEach(() => {
    nowMs = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => void vi.restoreAllMocks());

  const setUp = () => {
    const told: unknown[] = [];
    const handle = createHandler({
      arrivals: new Arrivals(() => told.push('abandoned')),
      onDecided: ({ reason }, dialect, durationMs) => told.push([reason, dialect, durationMs]),
      onFault: (dialect, error) => told.push([dialect, (error as Error).message]),
    });
    const call = (parts: Partial<Pending<string>>): Pending<string> => ({
      dialect: 'envoy',
      isGone: () => false,
      decide: () => 'result',
      answer: () => EXEMPT,
      fail: () => true,
      ...parts,
    });
    return { told, handle, call };
  };

  test('is how long it took from the arrival to the answer', async () => {
    const { told, handle, call } = setUp();
    const answered: string[] = [];
    const answer = (result: string) => {
      answered.push(result);
      nowMs += 2;
      return EXEMPT;
    };
    handle(call({ answer }));
    expect(answered).toEqual([]);
    nowMs += 3;
    await nextTurn();
    expect(answered).toEqual(['result']);
    expect(told).toEqual([['exempt', 'envoy', 5]]);
  });

  test('is a fault only if the gateway is to blame', async () => {
    const { told, handle, call } = setUp();
    handle(call({ decide: throws('theirs'), fail: () => false }));
    handle(call({ decide: async () => throws('theirs, later')(), fail: () => false }));
    handle(call({ decide: throws('ours') }));
    await nextTurn();
    expect(told).toEqual([['envoy', 'ours']]);
  });

  test('is that a caller was gone, if its request waited: nothing is decided then', async () => {
    const { told, handle, call } = setUp();
    const decide = () => {
      told.push('decided');
      return 'result';
    };
    // A turn that has taken 5 ms is in time.
    handle(call({}));
    nowMs += 5;
    handle(call({ isGone: () => true, decide }));
    expect(told).toEqual(['decided']);
    nowMs += 1;
    handle(call({ isGone: () => true, decide }));
    expect(told).toEqual(['decided']);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    expect(told.filter((each) => typeof each === 'string')).toEqual(['decided', 'abandoned']);
  });
});
