/** When clients are told to come back. */
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../../../src/gateway/core/counting/decision.ts';
import { waitAfter } from '../../../../../src/gateway/dialects/shared/retry.ts';

function deniedFor(retryAfterMs: number, key: string): Decision {
  const binding = { key, state: { retryAfterMs } };
  return { verdict: 'deny', reason: 'over_limit', binding } as Decision;
}

describe('the jitter of Retry-After', () => {
  const waitOf = (key: string, spread: number, retryAfterMs = 4_200) => {
    const style = { reset: 'delta', retryAfterJitterSeconds: spread, body: 'json' } as const;
    return waitAfter(deniedFor(retryAfterMs, key), style)?.seconds ?? Number.NaN;
  };

  test.each([0, 1, 2, 9])('is each number from 0 to %i', (spread) => {
    const waits = new Set(Array.from({ length: 500 }, (_, i) => waitOf(`key ${i}`, spread)));
    const expected = Array.from({ length: spread + 1 }, (_, i) => 5 + i);
    expect([...waits].sort((a, b) => a - b)).toEqual(expected);
  });

  test('is the same for one client and limit', () => {
    const jitters = [1_000, 4_200, 9_999].map((ms) => waitOf('a', 60, ms) - Math.ceil(ms / 1_000));
    expect(new Set(jitters).size).toBe(1);
  });

  test('comes on top of at least a second', () => {
    expect(waitOf('a', 0, 0)).toBe(1);
  });
});
