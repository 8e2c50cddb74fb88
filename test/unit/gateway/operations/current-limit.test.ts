import { expect, test } from 'vitest';
import { descriptor } from '../../../../src/gateway/core/counting/descriptor.ts';
import type { Descriptor } from '../../../../src/gateway/core/counting/store.ts';
import type { Limit } from '../../../../src/gateway/core/policy.ts';
import { currentQuota } from '../../../../src/gateway/operations/current-limit.ts';
import { loginPolicy } from '../../../support/policies.ts';

const STATE = { limit: 5, remaining: 2, resetAfterMs: 1_000, retryAfterMs: 0 };

test.each([
  '5/5min',
  '{ rate: 5000000/1h, algorithm: token-bucket, burst: 9000000, unit: tokens, reserve: 5 }',
])('the limit that denied is read as requests take from it: %s', async (written) => {
  const policy = loginPolicy(`[${written}]`);
  const [limit] = policy.limits as [Limit];
  const { key } = descriptor(limit, 'c.x');
  const read: Descriptor[] = [];
  const reader = {
    async peek(descriptors: readonly Descriptor[]) {
      read.push(...descriptors);
      return { states: [STATE], nowMs: 0 };
    },
  };
  const binding = { limit, key, state: STATE, nowMs: 0 };
  expect(await currentQuota(binding, [policy], reader)).toMatchObject({ remaining: 2 });
  expect(read).toEqual([descriptor(limit, 'c.x')]);
});
