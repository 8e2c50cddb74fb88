import { expect, test } from 'vitest';
import { DenseHorizon } from '../../../../../src/cli/evidence/reading/dense-horizon.ts';

const LINE = 500;
/** Room for four lines. */
const horizon = () => new DenseHorizon(4_000);

test('entries that fit wait until they are ready', () => {
  const dense = horizon();
  for (const second of [1, 2, 3, 4]) dense.add(second * 1_000, LINE);
  expect(dense.readyMs(500)).toBe(500);
});

test('if more wait, those of the earliest seconds are visited', () => {
  const dense = horizon();
  for (const startMs of [3_000, 1_000, 1_700, 2_000, 4_000, 5_000]) dense.add(startMs, LINE);
  expect(dense.readyMs(500)).toBe(1_700);
  expect(dense.readyMs(500)).toBe(500);
});

test('entries that start in the same moment are visited together, and later ones of it are not late', () => {
  const dense = horizon();
  for (let i = 0; i < 100; i++) dense.add(7_000, LINE);
  expect(dense.readyMs(0)).toBe(7_000);
});

test('entries that were ready make way for others', () => {
  const dense = horizon();
  for (let second = 0; second < 1_000; second++) {
    dense.add(second * 1_000, LINE);
    const readyMs = (second - 2) * 1_000;
    expect(dense.readyMs(readyMs)).toBe(readyMs);
  }
});

test('long lines need more', () => {
  const dense = horizon();
  dense.add(1_000, 3_000);
  dense.add(2_000, 3_000);
  expect(dense.readyMs(0)).toBe(1_000);
});
