import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Turn } from '../../../../src/gateway/server/turn.ts';

describe('a turn', () => {
  test('runs its jobs at its end, in order', async () => {
    const turn = new Turn();
    const done: string[] = [];
    turn.atEnd(() => done.push('a'));
    turn.atEnd(() => done.push('b'));
    expect(done).toEqual([]);
    await nextTurn();
    expect(done).toEqual(['a', 'b']);
  });

  test('runs a job that a job adds in the next turn', async () => {
    const turn = new Turn();
    const done: string[] = [];
    turn.atEnd(() => turn.atEnd(() => done.push('later')));
    await nextTurn();
    expect(done).toEqual([]);
    await nextTurn();
    expect(done).toEqual(['later']);
  });

  test('is late once it has taken more than 5 ms', () => {
    const turn = new Turn();
    expect(turn.isLate(1_000)).toBe(false);
    expect(turn.isLate(1_005)).toBe(false);
    expect(turn.isLate(1_005.5)).toBe(true);
  });

  test('is late after a turn that took more than 5 ms', async () => {
    const turn = new Turn();
    // As if it had begun long ago.
    turn.isLate(performance.now() - 100);
    await nextTurn();
    expect(turn.isLate(performance.now())).toBe(true);
  });
});
