/** How much work a path with marks may cost, to the comparison. */
import { expect, test } from 'vitest';
import { compilePathsAround } from '../../../../../src/gateway/core/path/path-around.ts';

const GAP = '\ud800';
const patterns = (count: number) => Array.from({ length: count }, (_, i) => `/x${i}`);

test('a path may cost 5,000 comparisons: one for each name, and 50 for each step', () => {
  expect(compilePathsAround(patterns(4_950))([`/a${GAP}`])).toEqual([]);
  expect(compilePathsAround(patterns(4_951))([`/a${GAP}`])).toBeUndefined();
});

test('all paths of a request cost it together', () => {
  const around = compilePathsAround(patterns(2_450));
  expect(around([`/a${GAP}`, `/b${GAP}`])).toEqual([]);
  expect(compilePathsAround(patterns(2_451))([`/a${GAP}`, `/b${GAP}`])).toBeUndefined();
  // Without a mark, a name is looked up.
  expect(around(['/a', '/b', '/x7'])).toEqual([{ path: '/x7', filled: 0 }]);
});

test('a name that is found costs a step of its own', () => {
  // The root, its names, and what the path leads to, which ends there.
  const found = compilePathsAround(patterns(4_950))([`/x${GAP}`]);
  expect(found).toHaveLength(4_950);
  expect(found?.[12]).toEqual({ path: '/x12', filled: 2 });
});

test.each<[string, string[], [string, number][]]>([
  ['/', [''], [['/', 0]]],
  ['/a/b', [`/a/${GAP}`], [['/a/b', 1]]],
  ['/a/b', [`/${GAP}/b`], [['/a/b', 1]]],
  ['/a/b', [`/c${GAP}/b`], []],
  ['/a/bcd', [`/a/b${GAP}d`], [['/a/bcd', 2]]],
  ['/a/bcd', [`/a/b${GAP}x`], []],
  ['/a/bcd', [`/a/bc${GAP}cd`], []],
  ['/a/bcd', [`/a/b${GAP}c${GAP}`], [['/a/bcd', 2]]],
  ['/a/bcd', [`/a/b${GAP}d${GAP}`], [['/a/bcd', 2]]],
  ['/a/bcd', [`/a/b${GAP}x${GAP}`], []],
  ['/a/:p1', [`/a/b`], [['/a/b', 0]]],
  ['/a/:p1', [`/a/`], []],
  ['/a/*', [`/a/b/c`], [['/a/b/c', 0]]],
  ['/a/*', [`/a`], []],
  ['/a::b', ['/a:b'], [['/a:b', 0]]],
])('%j may be %j: %j', (pattern, paths, expected) => {
  const fits = compilePathsAround([pattern])(paths);
  expect(fits?.map(({ path, filled }) => [path, filled])).toEqual(expected);
});

test('each pattern is found once for a path, and again for the next one', () => {
  const around = compilePathsAround(['/a', '/b']);
  expect(around([`/${GAP}`])?.map(({ path }) => path)).toEqual(['/a', '/b']);
  expect(around(['/a', '/a'])?.map(({ path }) => path)).toEqual(['/a', '/a']);
});
