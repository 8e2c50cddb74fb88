import { describe, expect, test } from 'vitest';
import { encodeTakes, TAKE_SCRIPT, TakeReply } from '../../../src/stores/redis/take-script.ts';

const descriptor = (key: string) => ({ key, limit: 5, windowMs: 1_000, cost: 1 });

test('the script says what its arguments are, and reads no others', () => {
  const header = TAKE_SCRIPT.slice(0, TAKE_SCRIPT.indexOf('\nlocal '));
  for (const word of ['KEYS', 'ARGV[1]', 'ARGV[2]', 'RETURNS', 'milliseconds', 'units']) {
    expect(header).toContain(word);
  }
  const body = TAKE_SCRIPT.slice(header.length);
  expect(body.match(/ARGV\[/g)).toHaveLength(2);
  expect(body.match(/KEYS\[/g)).toHaveLength(1);
});

test('arguments are written request after request', () => {
  const takes = [[descriptor('a'), descriptor('b')], [descriptor('c')]];
  expect(encodeTakes(takes)).toEqual({
    keys: ['a', 'b', 'c'],
    values: [-1, 2, 5, 1_000, 1, 5, 1_000, 1, 1, 5, 1_000, 1],
  });
});

describe('a reply', () => {
  test('is read request after request', () => {
    const reply = new TakeReply([99, 1, 4, 1_000, 0, 0, 0, 500, 200], 2, 2);
    expect(reply.read([descriptor('a')])).toEqual({
      admitted: true,
      states: [{ limit: 5, remaining: 4, resetAfterMs: 1_000, retryAfterMs: 0 }],
      nowMs: 99,
    });
    expect(reply.read([descriptor('b')])).toEqual({
      admitted: false,
      states: [{ limit: 5, remaining: 0, resetAfterMs: 500, retryAfterMs: 200 }],
      nowMs: 99,
    });
  });
  test.each([[null], ['OK'], [[]], [[1, 1, 1, 1]], [[1, 1, 1, 1, 'x']], [[1, 1, 1, 1, 1, 1]]])(
    'of another shape is refused: %j',
    (reply) => expect(() => new TakeReply(reply, 1, 1)).toThrow('cannot have returned'),
  );
});
