import { describe, expect, test } from 'vitest';
import type { Descriptor } from '../../../src/core/store.ts';
import { TAKE_SCRIPT, TakeArguments, TakeReply } from '../../../src/stores/redis/take-script.ts';
import { descriptorOf, quotaOf } from '../../support/quotas.ts';

const QUOTA = quotaOf({ limit: 5, windowMs: 1_000 });
const descriptor = (key: string, cost = 1) => ({ key, quota: QUOTA, cost });

test('the script says what its arguments are', () => {
  for (const word of ['KEYS ', 'ARGV[1] ', 'ARGV[2] ', 'ARGV[3] ', 'RETURNS ']) {
    expect(TAKE_SCRIPT).toContain(`\n-- ${word}`);
  }
});

describe('arguments', () => {
  test('name what requests are counted by once, and each key by two bytes', () => {
    const call = new TakeArguments();
    call.add([descriptor('a'), descriptor('b', 2)]);
    call.add([descriptor('c')]);
    expect(call.keys).toEqual(['a', 'b', 'c']);
    const rows = ['log', 5, 1_000, 5, 1, 0, 'log', 5, 1_000, 5, 2, 0];
    expect(call.values()).toEqual([-1, '  !` `', ...rows]);
    expect(call.values(99)[0]).toBe(99);
  });
  test('tell two thousand quotas apart, and say so when there are more', () => {
    const call = new TakeArguments();
    const many = Array.from({ length: 2_048 }, (_, i) => descriptor('a', i + 1));
    call.add(many);
    expect(call.values()).toHaveLength(2 + 6 * 2_048);
    expect(() => call.add([descriptor('a', 9_999)])).toThrow('2048 different quotas');
  });
});

describe('a reply', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((key) => descriptorOf(key, QUOTA));
  test('is read request after request', () => {
    const reply = new TakeReply([99, 4, 1_000, -1, 500, 200, -4, 900]);
    expect(reply.read([a] as Descriptor[])).toEqual({
      admitted: true,
      states: [{ limit: 5, remaining: 4, resetAfterMs: 1_000, retryAfterMs: 0 }],
      nowMs: 99,
    });
    expect(reply.read([b, c] as Descriptor[])).toEqual({
      admitted: false,
      states: [
        { limit: 5, remaining: 0, resetAfterMs: 500, retryAfterMs: 200 },
        { limit: 5, remaining: 3, resetAfterMs: 900, retryAfterMs: 0 },
      ],
      nowMs: 99,
    });
  });
  test.each([[null], ['OK'], [[]], [[99, 4]], [[99, 0, 500]], [[99, 4, 'x']]])(
    'of another shape is refused: %j',
    (reply) => {
      expect(() => new TakeReply(reply).read([a] as Descriptor[])).toThrow('cannot have returned');
    },
  );
});
