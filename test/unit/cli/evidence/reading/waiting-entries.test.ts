import { expect, test } from 'vitest';
import { WaitingEntries } from '../../../../../src/cli/evidence/reading/waiting-entries.ts';

const LINE = 500;

/** Has space for four lines. */
function waitingEntries() {
  const waiting = new WaitingEntries<{ readonly startMs: number }>(4_000);
  return {
    add: (startMs: number, lineLength = LINE, isWanted = true) =>
      waiting.add({ kept: isWanted ? { startMs } : undefined, startMs, source: 0 }, lineLength),
    /** The starts of the visited entries, and the moment until which entries were visited. */
    visit(readyMs: number) {
      const visited: number[] = [];
      const untilMs = waiting.visitUntil(readyMs, ({ startMs }) => visited.push(startMs));
      return { visited, untilMs };
    },
  };
}

test('entries that fit wait until they are ready', () => {
  const { add, visit } = waitingEntries();
  for (const second of [1, 2, 3, 4]) add(second * 1_000);
  expect(visit(500)).toEqual({ visited: [], untilMs: 500 });
  expect(visit(2_000)).toEqual({ visited: [1_000, 2_000], untilMs: 2_000 });
});

test('entries of one second are visited as far as they are ready', () => {
  const { add, visit } = waitingEntries();
  for (const startMs of [1_900, 1_200, 1_500]) add(startMs);
  expect(visit(1_500).visited).toEqual([1_200, 1_500]);
  expect(visit(1_900).visited).toEqual([1_900]);
});

test('if more wait, those of the earliest seconds are visited', () => {
  const { add, visit } = waitingEntries();
  for (const startMs of [3_000, 1_000, 1_700, 2_000, 4_000, 5_000]) add(startMs);
  expect(visit(500)).toEqual({ visited: [1_000, 1_700], untilMs: 1_700 });
  expect(visit(500)).toEqual({ visited: [], untilMs: 500 });
});

test('entries that are not wanted make the others ready, too', () => {
  const { add, visit } = waitingEntries();
  add(1_000);
  for (const second of [2, 3, 4, 5]) add(second * 1_000, LINE, false);
  expect(visit(500)).toEqual({ visited: [1_000], untilMs: 1_000 });
});

test('entries that start in the same moment are visited together, and later ones of it are not late', () => {
  const { add, visit } = waitingEntries();
  for (let i = 0; i < 100; i++) add(7_000);
  expect(visit(0).untilMs).toBe(7_000);
});

test('entries that were ready make way for others', () => {
  const { add, visit } = waitingEntries();
  for (let second = 0; second < 1_000; second++) {
    add(second * 1_000);
    const readyMs = (second - 2) * 1_000;
    expect(visit(readyMs).untilMs).toBe(readyMs);
  }
});

test('long lines need more', () => {
  const { add, visit } = waitingEntries();
  add(1_000, 3_000);
  add(2_000, 3_000);
  expect(visit(0).untilMs).toBe(1_000);
});
