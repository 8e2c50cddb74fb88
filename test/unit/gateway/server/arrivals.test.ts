import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Arrivals } from '../../../../src/gateway/server/handler.ts';

/** Whether a request that arrives at this moment has to wait. */
function isLate(arrivals: Arrivals, nowMs: number): boolean {
  let isDone = false;
  arrivals.add(nowMs, { isGone: () => false }, () => {
    isDone = true;
  });
  return !isDone;
}

describe('a turn', () => {
  test('runs its jobs at its end, in order', async () => {
    const arrivals = new Arrivals(() => {});
    const done: string[] = [];
    arrivals.atEndOfTurn(() => done.push('a'));
    arrivals.atEndOfTurn(() => done.push('b'));
    expect(done).toEqual([]);
    await nextTurn();
    expect(done).toEqual(['a', 'b']);
  });

  test('runs a job that a job adds in the next turn', async () => {
    const arrivals = new Arrivals(() => {});
    const done: string[] = [];
    arrivals.atEndOfTurn(() => arrivals.atEndOfTurn(() => done.push('later')));
    await nextTurn();
    expect(done).toEqual([]);
    await nextTurn();
    expect(done).toEqual(['later']);
  });

  test('is late once it has taken more than 5 ms', () => {
    const arrivals = new Arrivals(() => {});
    expect(isLate(arrivals, 1_000)).toBe(false);
    expect(isLate(arrivals, 1_005)).toBe(false);
    expect(isLate(arrivals, 1_005.5)).toBe(true);
  });

  test('is late after a turn that took more than 5 ms', async () => {
    const arrivals = new Arrivals(() => {});
    // As if it had begun long ago.
    expect(isLate(arrivals, performance.now() - 100)).toBe(false);
    await nextTurn();
    expect(isLate(arrivals, performance.now())).toBe(true);
  });
});

/** Every request arrives more than 5 ms after the turn began. */
function backlogOf() {
  const events: string[] = [];
  const arrivals = new Arrivals(() => events.push('abandoned'));
  arrivals.add(0, { isGone: () => false }, () => {});
  const add = (name: string, isGone = () => false) =>
    arrivals.add(1_000, { isGone }, () => events.push(name));
  return { events, add };
}

/** The work of one run ends when the next read of the sockets is due. */
function busyForMs(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

describe('the backlog', () => {
  test('waits until the sockets have been read once more', async () => {
    const { events, add } = backlogOf();
    add('a');
    add('b');
    expect(events).toEqual([]);
    await nextTurn();
    expect(events).toEqual([]);
    await nextTurn();
    expect(events).toEqual(['a', 'b']);
  });

  test('spends no work on a caller that has disconnected meanwhile', async () => {
    const { events, add } = backlogOf();
    let isGone = false;
    add('a', () => isGone);
    add('b');
    isGone = true;
    await nextTurn();
    await nextTurn();
    expect(events).toEqual(['abandoned', 'b']);
  });

  test('keeps the order of arrival when the work of one turn is too long', async () => {
    const { events, add } = backlogOf();
    for (const name of ['a', 'b', 'c']) {
      add(name, () => {
        busyForMs(11);
        return false;
      });
    }
    const perTurn: number[] = [];
    for (let seen = 0; seen < 3; seen = events.length) {
      await nextTurn();
      perTurn.push(events.length - seen);
    }
    expect(Math.max(...perTurn)).toBe(1);
    expect(events).toEqual(['a', 'b', 'c']);
  });

  test('answers those that have waited before those that arrive meanwhile', async () => {
    const { events, add } = backlogOf();
    let arrived = 0;
    for (const name of ['a', 'b', 'c']) {
      add(name, () => {
        add(`later ${++arrived}`);
        busyForMs(11);
        return false;
      });
    }
    while (events.length < 6) await nextTurn();
    expect(events).toEqual(['a', 'b', 'c', 'later 1', 'later 2', 'later 3']);
  });

  test('looks at each caller once, however many turns it waits', async () => {
    const { events, add } = backlogOf();
    let looks = 0;
    add('a', () => {
      busyForMs(11);
      return false;
    });
    add('b', () => {
      looks++;
      return true;
    });
    for (let turn = 0; turn < 6; turn++) await nextTurn();
    expect(events).toEqual(['a', 'abandoned']);
    expect(looks).toBe(1);
  });
});
