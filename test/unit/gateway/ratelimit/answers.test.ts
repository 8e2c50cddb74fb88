/**
 * What a call gets, depending on which of its limits are used up and on their modes. The rows are the cases of the tests of
 * envoyproxy/ratelimit (test/service/ratelimit_test.go), in its windows and in those of the product's default.
 */
import { describe, expect, test } from 'vitest';
import { type QuotaStore, StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { RefusedCall } from '../../../../src/gateway/ratelimit/call.ts';
import {
  callOf,
  type LimitingOptions,
  limitingWith,
  WINDOWS,
} from '../../../support/rate-limiting.ts';

const UNLIMITED = 4_294_967_295;
/** Second 2222: the minute ends in 58 seconds. */
const NOW_MS = 2_222_000;
/** In the headers of a row: the seconds until the minute ends, or until all hits have left it. */
const RESET = 'RESET';
const SECONDS = { aligned: '58', sliding: '60' };

interface Row {
  readonly name: string;
  readonly settings?: LimitingOptions;
  /** The keys of the call, and whether their limits are used up. */
  readonly call: Readonly<Record<string, 'used up' | 'left'>>;
  readonly isOverLimit: boolean;
  /** What is left of each limit: `over`, a number, or `none` without a limit. */
  readonly statuses: readonly ('over' | 'none' | number)[];
  readonly headers?: readonly string[];
  readonly metadata?: object;
  /** How often somebody would have been denied. */
  readonly wouldDeny?: number;
}

const RULES = `
domain: rl
descriptors:
  - { key: first, rate_limit: { unit: minute, requests_per_unit: 10, name: key_name }, metadata: { name: service_1 } }
  - { key: second, rate_limit: { unit: minute, requests_per_unit: 5 }, metadata: { name: service_2, other: [1, null] } }
  - { key: shadow, rate_limit: { unit: minute, requests_per_unit: 10 }, shadow_mode: true }
  - { key: quota, rate_limit: { unit: minute, requests_per_unit: 3 }, quota_mode: true, metadata: { on: { a: 1 } } }
  - { key: other_quota, rate_limit: { unit: minute, requests_per_unit: 3 }, quota_mode: true, metadata: { on: { b: 2 } } }
  - { key: free, rate_limit: { unlimited: true } }
`;
const NAMES = {
  limit: 'RateLimit-Limit',
  remaining: 'RateLimit-Remaining',
  reset: 'RateLimit-Reset',
};
const OWN_NAMES = { limit: 'A-Limit', remaining: 'A-Remaining', reset: 'A-Reset' };
const QUOTAS = { isQuota: true };
const SHADOW = { isShadow: true };
const METADATA = { hasMetadata: true };

const ROWS: readonly Row[] = [
  {
    name: 'no limit applies',
    call: { hello: 'left' },
    isOverLimit: false,
    statuses: ['none'],
  },
  {
    name: 'one limit is used up, the other descriptor has none',
    call: { first: 'used up', hello: 'left' },
    isOverLimit: true,
    statuses: ['over', 'none'],
  },
  {
    name: 'the same in another order',
    call: { hello: 'left', first: 'used up' },
    isOverLimit: true,
    statuses: ['none', 'over'],
  },
  {
    name: 'the service is in shadow mode',
    settings: SHADOW,
    call: { first: 'used up', hello: 'left' },
    isOverLimit: false,
    statuses: ['over', 'none'],
    wouldDeny: 1,
  },
  {
    name: 'the limit is in shadow mode',
    call: { shadow: 'used up', hello: 'left' },
    isOverLimit: false,
    statuses: [0, 'none'],
    wouldDeny: 1,
  },
  {
    name: 'one of two used up limits is in shadow mode',
    call: { shadow: 'used up', first: 'used up' },
    isOverLimit: true,
    statuses: [0, 'over'],
    wouldDeny: 1,
  },
  {
    name: 'headers are on',
    settings: { headers: NAMES },
    call: { first: 'used up', hello: 'left' },
    isOverLimit: true,
    statuses: ['over', 'none'],
    headers: ['RateLimit-Limit', '10', 'RateLimit-Remaining', '0', 'RateLimit-Reset', RESET],
  },
  {
    name: 'headers have other names',
    settings: { headers: OWN_NAMES },
    call: { first: 'used up', hello: 'left' },
    isOverLimit: true,
    statuses: ['over', 'none'],
    headers: ['A-Limit', '10', 'A-Remaining', '0', 'A-Reset', RESET],
  },
  {
    name: 'headers describe the limit that has less left',
    settings: { headers: OWN_NAMES },
    call: { first: 'left', second: 'left' },
    isOverLimit: false,
    statuses: [9, 4],
    headers: ['A-Limit', '5', 'A-Remaining', '4', 'A-Reset', RESET],
  },
  {
    name: 'headers describe the last limit that is used up',
    settings: { headers: OWN_NAMES },
    call: { second: 'used up', first: 'used up' },
    isOverLimit: true,
    statuses: ['over', 'over'],
    headers: ['A-Limit', '10', 'A-Remaining', '0', 'A-Reset', RESET],
  },
  {
    name: 'a limit is unlimited',
    call: { first: 'left', hello: 'left', free: 'left' },
    isOverLimit: false,
    statuses: [9, 'none', UNLIMITED],
  },
  {
    name: 'all limits are in quota mode and used up',
    settings: QUOTAS,
    call: { first: 'used up', second: 'used up' },
    isOverLimit: true,
    statuses: ['over', 'over'],
  },
  {
    name: 'all limits are in quota mode, one is used up, and the other descriptor has none',
    settings: QUOTAS,
    call: { first: 'used up', hello: 'left' },
    isOverLimit: false,
    statuses: ['over', 'none'],
  },
  {
    name: 'all limits are in quota mode, one is used up, and the other is unlimited',
    settings: QUOTAS,
    call: { first: 'used up', free: 'left' },
    isOverLimit: true,
    statuses: ['over', UNLIMITED],
  },
  {
    name: 'a quota is used up, and the other descriptor has no limit',
    call: { quota: 'used up', hello: 'left' },
    isOverLimit: true,
    statuses: ['over', 'none'],
  },
  {
    name: 'one of two quotas is used up',
    call: { quota: 'used up', other_quota: 'left' },
    isOverLimit: false,
    statuses: ['over', 2],
  },
  {
    name: 'both quotas are used up',
    call: { quota: 'used up', other_quota: 'used up' },
    isOverLimit: true,
    statuses: ['over', 'over'],
  },
  {
    name: 'a limit is used up, a quota is not',
    call: { first: 'used up', quota: 'left' },
    isOverLimit: true,
    statuses: ['over', 2],
  },
  {
    name: 'the only quota is used up, a limit is not',
    call: { first: 'left', quota: 'used up' },
    isOverLimit: true,
    statuses: [9, 'over'],
  },
  {
    name: 'neither a limit nor a quota is used up',
    call: { first: 'left', quota: 'left' },
    isOverLimit: false,
    statuses: [9, 2],
  },
  {
    name: 'the service is in shadow mode, and both quotas are used up',
    settings: SHADOW,
    call: { quota: 'used up', other_quota: 'used up' },
    isOverLimit: false,
    statuses: ['over', 'over'],
    wouldDeny: 1,
  },
  {
    name: 'the service is in shadow mode, and a limit and a quota are used up',
    settings: SHADOW,
    call: { first: 'used up', quota: 'used up' },
    isOverLimit: false,
    statuses: ['over', 'over'],
    wouldDeny: 1,
  },
  {
    name: 'metadata is that of the limits that are not used up',
    settings: { ...METADATA, ...QUOTAS },
    call: { first: 'left', second: 'used up' },
    isOverLimit: false,
    statuses: [9, 'over'],
    metadata: { name: 'service_1' },
  },
  {
    name: 'metadata of all limits, the first value of a name',
    settings: { ...METADATA, ...QUOTAS },
    call: { first: 'left', second: 'left' },
    isOverLimit: false,
    statuses: [9, 4],
    metadata: { name: 'service_1', other: [1, null] },
  },
  {
    name: 'metadata with maps of the same name',
    settings: METADATA,
    call: { quota: 'left', other_quota: 'left' },
    isOverLimit: false,
    statuses: [2, 2],
    metadata: { on: { a: 1, b: 2 } },
  },
];

const LIMITS: Readonly<Record<string, number>> = {
  ...{ first: 10, second: 5, shadow: 10, quota: 3, other_quota: 3 },
};

describe.each(WINDOWS.flatMap((windows) => ROWS.map((row) => ({ windows, ...row }))))(
  '$name, $windows',
  ({ windows, settings: own = {}, call, ...expected }) => {
    const settings = { windows, ...own };
    const keys = Object.keys(call);

    test(`the call is ${expected.isOverLimit ? 'denied' : 'let through'}`, async () => {
      const limiting = limitingWith(RULES, settings);
      limiting.clock.nowMs = NOW_MS;
      for (const key of keys.filter((each) => call[each] === 'used up')) {
        await limiting.answer(callOf('rl', [`${key}=x`], LIMITS[key]));
      }
      const answer = await limiting.answer(
        callOf(
          'rl',
          keys.map((key) => `${key}=x`),
        ),
      );
      expect(answer.isOverLimit).toBe(expected.isOverLimit);
      expect(answer.statuses.map(leftOf)).toEqual(expected.statuses);
      expect(answer.statuses.map(({ limit }) => limit?.requestsPerUnit)).toEqual(
        keys.map((key) => LIMITS[key]),
      );
      const headers = expected.headers ?? [];
      expect(answer.headers).toEqual(
        headers.map((each) => (each === RESET ? SECONDS[windows] : each)),
      );
      expect(answer.body).toBe('');
      expect(answer.metadata?.metadata).toEqual(expected.metadata);
      expect(limiting.wouldDeny()).toBe(expected.wouldDeny ?? 0);
    });
  },
);

interface Status {
  readonly isOverLimit: boolean;
  readonly limit: object | undefined;
  readonly remaining: number;
}

function leftOf({ isOverLimit, limit, remaining }: Status) {
  if (isOverLimit) return 'over';
  return limit === undefined && remaining === 0 ? 'none' : remaining;
}

describe('what a denied client gets', () => {
  const rules = `
domain: rl
descriptors:
  - { key: closed, rate_limit: { unit: minute, requests_per_unit: 0 } }
  - { key: first, rate_limit: { unit: minute, requests_per_unit: 2 } }`;
  for (const windows of WINDOWS) {
    const told = async (descriptors: readonly string[], hits?: number) => {
      const limiting = limitingWith(rules, { windows, hasBody: true });
      limiting.clock.nowMs = NOW_MS;
      await limiting.answer(callOf('rl', descriptors, 2));
      const { isOverLimit, headers, body } = await limiting.answer(callOf('rl', descriptors, hits));
      expect(isOverLimit).toBe(true);
      const wait = headers[headers.indexOf('Retry-After') + 1];
      return { wait: headers.includes('Retry-After') ? wait : undefined, ...JSON.parse(body) };
    };
    test(`by a limit that has room later (${windows})`, async () => {
      const seconds = Number(SECONDS[windows]);
      expect(await told(['first=x'])).toMatchObject({
        ...{ wait: String(seconds), retry_after: seconds },
        message: `Policy rl.first allows 2 requests per minute. Try again in ${seconds} seconds.`,
      });
    });
    test.each([
      ['a limit of 0', ['closed=x'], 1, 'closed allows 0 requests per minute'],
      [
        'a limit of 0, beside one that has room later',
        ['first=x', 'closed=x'],
        1,
        'closed allows 0',
      ],
      ['a limit below the hits of the call', ['first=x'], 3, 'first allows 2 requests per minute'],
    ])(`by %s: that it never will (${windows})`, async (_, descriptors, hits, allows) => {
      const answer = await told(descriptors, hits);
      expect(answer.wait).toBeUndefined();
      expect(answer).not.toHaveProperty('retry_after');
      expect(answer.message).toContain(`Policy rl.${allows}`);
      expect(answer.message).toMatch(/minute\. It never allows this request\.$/);
    });
  }
});

test('the limit of a status has the name of the file', async () => {
  const { statuses } = await limitingWith(RULES).answer(callOf('rl', ['first=x', 'second=x']));
  expect(statuses.map(({ limit }) => limit?.name)).toEqual(['key_name', undefined]);
});

test('metadata describes the call', async () => {
  const limiting = limitingWith(RULES, METADATA);
  const { metadata } = await limiting.answer(callOf('rl', ['hello=world a=b', 'c=d'], 2));
  expect(metadata).toEqual({
    domain: 'rl',
    descriptors: [{ entries: ['hello=world', 'a=b'] }, { entries: ['c=d'] }],
    hitsAddend: 2,
  });
});

const refused = (code: string, message: string) =>
  expect.objectContaining({ name: 'RefusedCall', code, message });

test('a call without a domain or without descriptors is refused', async () => {
  const limiting = limitingWith(RULES);
  await expect(limiting.answer(callOf('', ['first=x']))).rejects.toEqual(
    refused('invalid_argument', 'The domain is empty.'),
  );
  await expect(limiting.answer(callOf('rl', []))).rejects.toEqual(
    refused('invalid_argument', 'The call has no descriptors.'),
  );
});

test('a call fails until rules are loaded', async () => {
  const limiting = limitingWith(undefined);
  const call = callOf('rl', ['first=x']);
  await expect(limiting.answer(call)).rejects.toBeInstanceOf(RefusedCall);
  limiting.load(RULES);
  expect((await limiting.answer(call)).isOverLimit).toBe(false);
});

test('rules that cannot be compiled leave those in force', async () => {
  const limiting = limitingWith(RULES);
  expect(() => limiting.load('domain: rl\ndescriptors: [{ value: x }]\n')).toThrow();
  const { statuses } = await limiting.answer(callOf('rl', ['first=x']));
  expect(statuses[0]?.limit?.requestsPerUnit).toBe(10);
});

test.each([
  { descriptors: ['plain'], fails: true },
  { descriptors: ['plain', 'allows'], fails: true },
  { descriptors: ['allows', 'plain'], fails: true },
  { descriptors: ['denies', 'plain'], fails: true },
  { descriptors: ['allows'], isOverLimit: false },
  { descriptors: ['allows', 'denies'], isOverLimit: true },
  { descriptors: ['shadow'], isOverLimit: false },
  { descriptors: ['shadow', 'allows'], isOverLimit: false },
  { descriptors: ['shadow', 'plain'], fails: true },
])('without the store: $descriptors', async ({ descriptors, fails, isOverLimit }) => {
  const store = { take: () => Promise.reject(new StoreError('timeout', 'late')) };
  const limit = 'rate_limit: { unit: minute, requests_per_unit: 9 }';
  const limiting = limitingWith(
    `domain: rl
descriptors:
  - { key: plain, ${limit} }
  - { key: shadow, ${limit}, shadow_mode: true }
  - { key: allows, ${limit}, headgate: { on_store_failure: allow } }
  - { key: denies, ${limit}, headgate: { on_store_failure: deny } }`,
    { store },
  );
  const answer = limiting.answer(
    callOf(
      'rl',
      descriptors.map((key) => `${key}=x`),
    ),
  );
  if (fails) await expect(answer).rejects.toThrow(StoreError);
  else expect((await answer).isOverLimit).toBe(isOverLimit);
});

test('a call fails with the store, other faults stay what they are', async () => {
  const storeThat = (error: Error): Pick<QuotaStore, 'take'> => ({
    take: () => Promise.reject(error),
  });
  const call = callOf('rl', ['first=x']);
  const failing = limitingWith(RULES, { store: storeThat(new StoreError('timeout', 'late')) });
  await expect(failing.answer(call)).rejects.toThrow(StoreError);
  const faulty = limitingWith(RULES, { store: storeThat(new TypeError('a fault')) });
  await expect(faulty.answer(call)).rejects.toThrow('a fault');
});
