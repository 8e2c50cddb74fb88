/** The worst cases that the notes on a policy file tell are the ones that an adversary finds. */
import { expect, test } from 'vitest';
import { documentedWorstCase, SEARCHED, worstFoundCase, worstKnownCase } from './run.ts';

const SEARCH = { seed: 1, climbs: 4, changes: 25 };

test.each(SEARCHED)('$algorithm, $limit a minute, burst $burst', async (quota) => {
  const known = await worstKnownCase(quota);
  const found = await worstFoundCase(quota, SEARCH);
  const worst = known.units > found.units ? known : found;
  expect(worst.units, JSON.stringify(worst.schedule)).toBe(documentedWorstCase(quota));
});
