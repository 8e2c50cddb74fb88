import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Backlog } from '../../../../src/gateway/server/backlog.ts';

function backlogOf() {
  const events: string[] = [];
  const backlog = new Backlog(() => events.push('abandoned'));
  const add = (name: string, isGone = () => false) =>
    backlog.add({ isGone, work: () => events.push(name) });
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
    await nextTurn();
    await nextTurn();
    expect(events).toEqual(['a']);
    await nextTurn();
    await nextTurn();
    expect(events).toEqual(['a', 'b', 'c']);
  });
});
