/** Invented identities cannot fill the memory: the short form, with small stores. */
import { describe, expect, test } from 'vitest';
import { floodsOf } from './floods.ts';
import { mostHeld } from './judge.ts';
import { runFlood } from './run.ts';

const IDENTITIES = 2_000;
const SMALL = { maxKeys: 500, maxDenials: 50 };
const LARGE = { maxKeys: 10 * IDENTITIES, maxDenials: 50 };

describe.each(Object.entries(floodsOf(IDENTITIES)))('%s', (_, flood) => {
  test('hold no more keys and denials than a small store has room for', async () => {
    const { gateway, ...held } = await runFlood(SMALL, flood);
    expect(mostHeld(flood, held, SMALL)).toEqual([]);
    expect(gateway.keys()).toBe(held.keys);
  });

  test('get no more than the limits of their addresses from a store that forgets nothing', async () => {
    const { gateway, ...held } = await runFlood(LARGE, flood);
    expect(gateway.keys()).toBeLessThan(LARGE.maxKeys);
    expect(mostHeld(flood, held, LARGE)).toEqual([]);
    expect(held.admitted).toBeGreaterThan(0);
  });
});
