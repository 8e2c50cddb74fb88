import { expect, test } from 'vitest';
import { EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import { fnv1a32 } from '../../../../src/gateway/core/fnv1a.ts';
import { RecentDecisions } from '../../../../src/gateway/core/recent-decisions.ts';

const decisionOf = (number: number) => ({ ...EXEMPT, policy: String(number) });
const placeOf = (id: string) => {
  const hash = fnv1a32(id);
  return (hash ^ (hash >>> 15)) & 32_767;
};

/** As somebody would choose them who knows the hash. */
function idsOfOnePlace(count: number): string[] {
  const ids: string[] = [];
  for (let i = 0; ids.length < count; i++) {
    const id = `id ${i}`;
    if (placeOf(id) === 7) ids.push(id);
  }
  return ids;
}

test('finds each of the latest ids, with its own time and decision, also after the ring has turned', () => {
  const recent = new RecentDecisions(1_000_000);
  for (let i = 0; i < 100_000; i++) recent.add(`id ${i}`, { atMs: i, decision: decisionOf(i) });
  for (let i = 100_000 - 32_768; i < 100_000; i++) {
    const found = recent.find(`id ${i}`);
    expect(found?.atMs).toBe(i);
    expect(found?.decision).toHaveProperty('policy', String(i));
  }
  expect(recent.find('id 1')).toBeUndefined();
});

test('finds ids with one hash, the latest decision of an id first', () => {
  const recent = new RecentDecisions(1_000_000);
  const ids = idsOfOnePlace(20);
  for (const round of [1, 2]) {
    for (const [i, id] of ids.entries()) {
      recent.add(id, { atMs: round, decision: decisionOf(round * i) });
    }
  }
  for (const [i, id] of ids.entries()) {
    expect(recent.find(id)).toEqual({ atMs: 2, decision: decisionOf(2 * i) });
  }
});

test('compares an id with at most 64 others, so chosen ids buy no work', () => {
  const recent = new RecentDecisions(1_000_000);
  const [first = '', ...others] = idsOfOnePlace(80);
  recent.add(first, { atMs: 1, decision: EXEMPT });
  for (const id of others.slice(0, 63)) recent.add(id, { atMs: 1, decision: EXEMPT });
  expect(recent.find(first)).toBeDefined();
  for (const id of others.slice(63)) recent.add(id, { atMs: 1, decision: EXEMPT });
  expect(recent.find(first)).toBeUndefined();
});

test('forgets what is older than its lifetime while others come, and nothing else', () => {
  const recent = new RecentDecisions(2_000);
  for (let i = 0; i < 100; i++) recent.add(`id ${i}`, { atMs: i, decision: EXEMPT });
  for (let i = 0; i < 25; i++) recent.add(`new ${i}`, { atMs: 2_049, decision: EXEMPT });
  for (let i = 0; i < 100; i++) expect(recent.find(`id ${i}`) === undefined).toBe(i < 50);
  expect(recent.find('new 0')).toBeDefined();
});
