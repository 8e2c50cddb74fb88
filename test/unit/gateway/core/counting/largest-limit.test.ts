import { describe, expect, test } from 'vitest';
import { mostOf, multiplied } from '../../../../../src/gateway/core/counting/largest-limit.ts';
import type { Algorithm } from '../../../../../src/gateway/core/counting/store.ts';
import { policySetFrom } from '../../../../support/policies.ts';

const HOUR_MS = 3_600_000;

describe('the largest limit', () => {
  test.each<[Algorithm, number, boolean, number]>([
    ['sliding-window-log', HOUR_MS, false, 1_000_000],
    ['sliding-window-counter', HOUR_MS, false, 1_000_000],
    ['token-bucket', HOUR_MS, false, 1_000_000],
    ['fixed-window', HOUR_MS, false, 4_294_967_295],
    ['fixed-window', HOUR_MS, true, 999_999_999_999_999],
    ['sliding-window-counter', HOUR_MS, true, 1_250_999_896],
    ['token-bucket', 31 * 24 * HOUR_MS, true, 1_681_451],
  ])('%s with a window of %i ms, with a unit: %s', (algorithm, windowMs, hasUnit, most) => {
    expect(mostOf({ algorithm, windowMs }, hasUnit)).toBe(most);
    if (hasUnit && algorithm !== 'fixed-window') {
      expect(most * windowMs).toBeLessThan(2 ** 52);
      expect((most + 1) * windowMs).toBeGreaterThanOrEqual(2 ** 52);
    }
  });
  test('also bounds the limits of wider networks', () => {
    const quota = {
      algorithm: 'sliding-window-counter',
      limit: 700_000,
      windowMs: HOUR_MS,
      burst: 700_000,
      countRejected: false,
    } as const;
    expect(multiplied(quota, 3, false)).toMatchObject({ limit: 1_000_000, burst: 1_000_000 });
    expect(multiplied(quota, 3, true)).toMatchObject({ limit: 2_100_000, burst: 2_100_000 });
  });
});

test('a limit says its unit in its names, its description and its key', () => {
  const set = policySetFrom(`
version: 1
default:
  limits:
    - { rate: 100000/1h, algorithm: sliding-window-counter, unit: tokens, reserve: 500, unknown: 8000 }
    - { rate: 900/1h, algorithm: sliding-window-counter, unit: images, reserve: 1, unknown: 4 }
    - { rate: 2000000/month, per: ip, unit: tokens, reserve: 500, unknown: 8000 }
    - { rate: 60/1h, algorithm: sliding-window-counter }`);
  const { limits, settles } = set.fallback;
  expect(settles).toBe(true);
  expect(
    limits.map(({ label, policyItem, description, keySuffix, cost }) => [
      label,
      policyItem,
      description,
      keySuffix,
      cost,
    ]),
  ).toEqual([
    [
      'default',
      '"default";q=100000;w=3600;qu="tokens"',
      '100000 tokens per hour',
      '}:default:client.3600000.counter.tokens',
      500,
    ],
    [
      'default:client:1h:counter:images',
      '"default:client:1h:counter:images";q=900;w=3600;qu="images"',
      '900 images per hour',
      '}:default:client.3600000.counter.images',
      1,
    ],
    [
      'default:ip:month:tokens',
      '"default:ip:month:tokens";q=2000000;w=2678400;qu="tokens"',
      '2000000 tokens per month',
      '}:default:ip.month.UTC.tokens',
      500,
    ],
    [
      'default:client:1h:counter',
      '"default:client:1h:counter";q=60;w=3600',
      '60 requests per hour',
      '}:default:client.3600000.counter',
      1,
    ],
  ]);
});
