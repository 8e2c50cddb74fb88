/** A fault in Node's part of a connection closes that connection, and no other work runs in its context. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  ConnectionGuard,
  guardOf,
  guardOfContext,
} from '../../../../src/gateway/server/connection-guard.ts';

class FakeSocket extends EventEmitter {
  destroyed = false;

  destroy(): void {
    this.destroyed = true;
  }
}

const asSocket = (fake: FakeSocket) => fake as unknown as Socket;
const FAULT = new Error('fault');
const throwFault = () => {
  throw FAULT;
};

let events: unknown[];
let socket: FakeSocket;
let guard: ConnectionGuard;
beforeEach(() => {
  events = [];
  socket = new FakeSocket();
  guard = new ConnectionGuard(asSocket(socket), (error) => events.push(error, guardOfContext()));
});

test('a socket has the guard that owns it, and any other has none', () => {
  const layer = new FakeSocket();
  expect(guardOf(asSocket(layer))).toBeUndefined();
  guard.own(asSocket(layer));
  expect([guardOf(asSocket(socket)), guardOf(asSocket(layer))]).toEqual([guard, guard]);
  expect(guard.connection).toBe(socket);
});

describe('the context', () => {
  test('is that of the guard in what Node does, and outside it in what the gateway does', () => {
    const seen: unknown[] = [guardOfContext()];
    guard.enter(() => {
      seen.push(guardOfContext());
      guard.leave(() => seen.push(guardOfContext()));
      seen.push(guardOfContext());
    });
    expect(seen).toEqual([undefined, guard, undefined, guard]);
  });

  test('of an event is that of the guard, with its arguments', () => {
    socket.on('data', (...given) => events.push(guardOfContext(), ...given));
    expect(socket.emit('data', 'a', 'b')).toBe(true);
    expect(events).toEqual([guard, 'a', 'b']);
    expect(socket.emit('nothing listens')).toBe(false);
  });

  test('of one connection is not that of another', () => {
    const other = new ConnectionGuard(asSocket(new FakeSocket()), () => {});
    const seen: unknown[] = [];
    guard.enter(() => {
      other.enter(() => seen.push(guardOfContext()));
      seen.push(guardOfContext());
    });
    expect(seen).toEqual([other, guard]);
  });
});

describe('a fault', () => {
  test.each([
    ['in what Node does', () => guard.enter(throwFault)],
    ['in what the gateway does', () => guard.leave(throwFault)],
    ['in a listener of an event', () => socket.on('data', throwFault).emit('data')],
    ['that was reported', () => guard.fail(FAULT)],
  ])('%s closes the connection, and is reported once, outside', (_, act) => {
    guard.enter(() => {});
    expect([socket.destroyed, events]).toEqual([false, []]);
    expect(act).not.toThrow();
    expect([socket.destroyed, events]).toEqual([true, [FAULT, undefined]]);
  });

  test('of a layer closes the connection below it', () => {
    const layer = new FakeSocket();
    guard.own(asSocket(layer));
    layer.on('data', throwFault).emit('data');
    expect([socket.destroyed, layer.destroyed]).toEqual([true, false]);
    expect(events).toEqual([FAULT, undefined]);
  });

  test('of the network is none', () => {
    expect(socket.emit('error', new Error('ECONNRESET'))).toBe(true);
    expect([socket.destroyed, events]).toEqual([false, []]);
  });
});
