import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InventedKeys } from '../../../../src/gateway/keys/invented-keys.ts';

function setUp() {
  const clock = { nowMs: 0 };
  return { clock, invented: new InventedKeys(() => clock.nowMs) };
}

/** How many look-ups an address gets that finds nothing. */
function drain(invented: InventedKeys, address: string): number {
  let count = 0;
  for (; count < 1_000 && invented.mayLookUp(address); count++) invented.foundNone(address);
  return count;
}

test('an address invents 60 keys at once, and one more a second', () => {
  const { clock, invented } = setUp();
  expect(drain(invented, 'a')).toBe(60);
  clock.nowMs += 999;
  expect(drain(invented, 'a')).toBe(0);
  clock.nowMs += 1;
  expect(drain(invented, 'a')).toBe(1);
  clock.nowMs += 3_600_000;
  expect(drain(invented, 'a')).toBe(60);
});

test('each address has its own', () => {
  const { invented } = setUp();
  drain(invented, 'a');
  expect(drain(invented, 'b')).toBe(60);
});

test('look-ups that were under way together leave no debt', () => {
  const { clock, invented } = setUp();
  for (let i = 0; i < 5_000; i++) invented.foundNone('a');
  clock.nowMs += 1_000;
  expect(drain(invented, 'a')).toBe(1);
});

test('a flood of addresses takes no unbounded memory: their budgets are forgotten in turn', () => {
  const { invented } = setUp();
  drain(invented, 'a');
  for (let i = 0; i < 20_000; i++) invented.foundNone(`flood ${i}`);
  expect(invented.mayLookUp('a')).toBe(true);
});

test('in no time does an address find nothing more often than a token bucket of 60, one a second, lets it', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 5_000 }), { maxLength: 200 }), (steps) => {
      const { clock, invented } = setUp();
      let misses = 0;
      for (const step of steps) {
        clock.nowMs += step;
        if (!invented.mayLookUp('a')) continue;
        invented.foundNone('a');
        misses++;
        expect(misses).toBeLessThanOrEqual(60 + clock.nowMs / 1_000);
      }
    }),
  );
});
