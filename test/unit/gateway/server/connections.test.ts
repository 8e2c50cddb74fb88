/** How many connections are open, which one gives way, and when the last one has ended. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Connections } from '../../../../src/gateway/server/connections.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

const asSocket = (fake: FakeSocket) => fake as unknown as Socket;

/** As many connections, one after the other. */
const sockets = (count: number) => Array.from({ length: count }, () => asSocket(new FakeSocket()));
const areOpen = (all: readonly Socket[]) => all.map(({ destroyed }) => !destroyed);

describe('a connection that is one too many', () => {
  test('closes the oldest that made no request', () => {
    const connections = new Connections({ max: 2 });
    const all = sockets(4) as [Socket, Socket, Socket, Socket];
    const [first, second, third, fourth] = all;
    expect([connections.add(first), connections.add(second)]).toEqual([true, true]);
    expect(areOpen(all)).toEqual([true, true, true, true]);
    connections.hasRequest(first);
    expect(connections.add(third)).toBe(true);
    expect(areOpen(all)).toEqual([true, false, true, true]);
    expect(connections.add(fourth)).toBe(true);
    expect(areOpen(all)).toEqual([true, false, false, true]);
  });

  test('is closed itself if every other one made a request', () => {
    const connections = new Connections({ max: 2 });
    const all = sockets(4) as [Socket, Socket, Socket, Socket];
    const [first, second, third, fourth] = all;
    for (const each of [first, second]) {
      connections.add(each);
      connections.hasRequest(each);
    }
    expect(connections.add(third)).toBe(false);
    expect(areOpen(all)).toEqual([true, true, false, true]);
    // A request of one that is closed or unknown changes nothing.
    connections.hasRequest(third);
    first.destroy();
    expect(connections.add(fourth)).toBe(true);
    expect(areOpen(all)).toEqual([false, true, false, true]);
  });

  test('never closes one that has ended before', () => {
    const connections = new Connections({ max: 2 });
    const all = sockets(4) as [Socket, Socket, Socket, Socket];
    const [first, second, third, fourth] = all;
    connections.add(first);
    connections.add(second);
    first.destroy();
    expect(connections.add(third)).toBe(true);
    expect(areOpen(all)).toEqual([false, true, true, true]);
    expect(connections.add(fourth)).toBe(true);
    expect(areOpen(all)).toEqual([false, false, true, true]);
  });

  test('is not taken if it has ended already', () => {
    const connections = new Connections({ max: 2 });
    const [gone] = sockets(1) as [Socket];
    gone.destroy();
    expect(connections.add(gone)).toBe(false);
    expect(gone.listenerCount('close')).toBe(0);
  });
});

describe('in place of the least recent one', () => {
  test('the one whose last request is oldest is closed', () => {
    const connections = new Connections({ max: 2 });
    const all = sockets(4) as [Socket, Socket, Socket, Socket];
    const [first, second, third, fourth] = all;
    connections.addInPlaceOfLeastRecent(first);
    connections.addInPlaceOfLeastRecent(second);
    expect(areOpen(all)).toEqual([true, true, true, true]);
    connections.use(first);
    connections.addInPlaceOfLeastRecent(third);
    expect(areOpen(all)).toEqual([true, false, true, true]);
    connections.addInPlaceOfLeastRecent(fourth);
    expect(areOpen(all)).toEqual([false, false, true, true]);
  });

  test('a request of one that has ended does not count it again', () => {
    const connections = new Connections({ max: 1 });
    const all = sockets(2) as [Socket, Socket];
    const [first, second] = all;
    connections.addInPlaceOfLeastRecent(first);
    first.destroy();
    connections.use(first);
    connections.addInPlaceOfLeastRecent(second);
    expect(areOpen(all)).toEqual([false, true]);
    connections.use(second);
    connections.use(second);
    expect(areOpen(all)).toEqual([false, true]);
  });
});

describe('the end', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** Whether it has resolved. */
  function endOf(connections: Connections, withinMs: number) {
    const end = { hasCome: false };
    void connections.ended(withinMs).then(() => {
      end.hasCome = true;
    });
    return end;
  }

  test('comes at once without connections', async () => {
    const connections = new Connections();
    const end = endOf(connections, 1_000);
    await nextTurn();
    expect(end.hasCome).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('waits for the last one, and cuts off nothing then', async () => {
    const connections = new Connections();
    const [first, second] = sockets(2) as [Socket, Socket];
    connections.add(first);
    connections.addInPlaceOfLeastRecent(second);
    const end = endOf(connections, 1_000);
    vi.advanceTimersByTime(999);
    first.destroy();
    await nextTurn();
    expect([end.hasCome, second.destroyed]).toEqual([false, false]);
    second.destroy();
    await nextTurn();
    expect([end.hasCome, vi.getTimerCount()]).toEqual([true, 0]);
  });

  test('cuts off the rest in time', async () => {
    const connections = new Connections();
    const all = sockets(3);
    for (const each of all) connections.add(each);
    const end = endOf(connections, 1_000);
    vi.advanceTimersByTime(999);
    expect(areOpen(all)).toEqual([true, true, true]);
    vi.advanceTimersByTime(1);
    await nextTurn();
    expect([end.hasCome, ...areOpen(all)]).toEqual([true, false, false, false]);
  });
});

describe('a first request', () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate'] }),
  );
  afterEach(() => void vi.useRealTimers());

  test('is due in time, to the turn of the event loop', () => {
    const connections = new Connections({ firstRequestWithinMs: 5_000 });
    const all = sockets(3) as [Socket, Socket, Socket];
    const [silent, prompt, late] = all;
    for (const each of all) connections.add(each);
    vi.advanceTimersByTime(4_999);
    connections.hasRequest(prompt);
    expect(areOpen(all)).toEqual([true, true, true]);
    // Its request arrives between the timer and the end of its turn.
    vi.advanceTimersToNextTimer();
    connections.hasRequest(late);
    expect(areOpen(all)).toEqual([true, true, true]);
    vi.runAllTimers();
    expect(areOpen([prompt, late])).toEqual([true, true]);
    expect(silent.destroyed).toBe(true);
  });

  test('is never due without a time', () => {
    const connections = new Connections();
    const [silent] = sockets(1) as [Socket];
    connections.add(silent);
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(3_600_000);
    expect(silent.destroyed).toBe(false);
  });

  test('is not waited for once the connection has ended', () => {
    const connections = new Connections({ firstRequestWithinMs: 5_000 });
    const [gone] = sockets(1) as [Socket];
    connections.add(gone);
    expect(vi.getTimerCount()).toBe(1);
    gone.destroy();
    expect(vi.getTimerCount()).toBe(0);
  });
});
