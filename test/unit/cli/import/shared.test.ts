import { describe, expect, test } from 'vitest';
import { PolicyNames } from '../../../../src/cli/import/shared/names.ts';
import { covers, literalPath, pathsBelow } from '../../../../src/cli/import/shared/paths.ts';
import { largestBurst, paceOf, rateText } from '../../../../src/cli/import/shared/rates.ts';
import { durationMs } from '../../../../src/cli/import/traefik/rate-limit.ts';

describe('names of policies', () => {
  test('are valid, whatever the text is', () => {
    const names = new PolicyNames();
    const texts = [
      'apiLimiter',
      'Größe',
      'a/b:c',
      '',
      '---',
      'default',
      'none',
      'x'.repeat(90),
      '日本',
    ];
    expect(texts.map((text) => names.nameFor(text))).toEqual([
      'api-limiter',
      'gro-e',
      'a-b-c',
      'policy',
      'policy-2',
      'default-2',
      'none-2',
      'x'.repeat(64),
      'policy-3',
    ]);
  });

  test('are different', () => {
    const names = new PolicyNames();
    const all = ['a', 'a', 'a-2', 'A', 'x'.repeat(64), 'x'.repeat(70)].map((text) =>
      names.nameFor(text),
    );
    expect(new Set(all).size).toBe(all.length);
    for (const name of all) expect(name).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/);
  });
});

describe('rates', () => {
  test.each([
    [{ limit: 5, windowMs: 300_000 }, '5/5min'],
    [{ limit: 5, windowMs: 90_000 }, '5/90s'],
    [{ limit: 5, windowMs: 86_400_000 }, '5/1d'],
    [{ limit: 5, windowMs: 1_000 }, '5/1s'],
  ])('%o is %s', (rate, text) => {
    expect(rateText(rate)).toBe(text);
  });

  test.each([
    [100, 1_000, '100/1s'],
    [50, 500, '100/1s'],
    [1, 1_500, '2/3s'],
    [0.5, 1_000, '1/2s'],
    [5, 60_000, '5/1min'],
    [9_000_000, 60_000, '150000/1s'],
  ])('a pace of %d in %d ms is %s', (count, periodMs, text) => {
    const pace = paceOf(count, periodMs);
    expect(pace && rateText(pace)).toBe(text);
  });

  test.each([
    [0, 1_000],
    [-1, 1_000],
    [Number.NaN, 1_000],
    [1, Number.NaN],
    [1, 0.1],
    [Math.PI, 1_000],
    [2_000_000, 1_000],
  ])('there is no pace of %d in %d ms', (count, periodMs) => {
    expect(paceOf(count, periodMs)).toBeUndefined();
  });

  test('a bucket is full again within 31 days', () => {
    expect(largestBurst({ limit: 1, windowMs: 60_000 })).toBe(31 * 24 * 60);
  });

  test.each([
    ['1m', 60_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['10', 10_000],
    ['1.5s', 1_500],
    ['soon', undefined],
  ])('the duration %s', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
});

describe('paths', () => {
  test.each([
    ['/login', '/login'],
    ['/login/', '/login'],
    ['/a b', '/a%20b'],
    ['/a(b)', '/a%28b%29'],
    ['/login.php', '/login.php/*'],
    ['/', '/'],
    ['login', undefined],
    ['/*', undefined],
    ['/a\u0000', undefined],
  ])('%s alone is %s', (path, template) => {
    expect(literalPath(path)).toBe(template);
  });

  test.each([
    ['/', '/*'],
    ['/api', '/api/*'],
    ['/api/', '/api/*'],
    ['api', undefined],
  ])('%s and what is below it is %s', (path, template) => {
    expect(pathsBelow(path)).toBe(template);
  });

  test.each([
    ['/*', '/a', true],
    ['/a/*', '/a', true],
    ['/a/*', '/a/b/*', true],
    ['/a/*', '/b/*', false],
    ['/:x/b', '/a/b', true],
    ['/a/b', '/:x/b', false],
    ['/A', '/a', true],
    ['/a', '/a/b', false],
    ['/a', '/a/*', false],
  ])('%s covers %s: %s', (outer, inner, expected) => {
    expect(covers(outer, inner)).toBe(expected);
  });
});
