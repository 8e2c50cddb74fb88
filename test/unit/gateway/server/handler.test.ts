import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Decision, EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import {
  Arrivals,
  type CheckHandlerOptions,
  createCheckHandler,
  createHandler,
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
