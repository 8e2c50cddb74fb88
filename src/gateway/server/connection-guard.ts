/**
 * Knows which connection an error belongs to, so that it closes that connection and not the process.
 *
 * What Node does for a connection runs in the context of its guard: events of the socket, and callbacks that they schedule.
 * The gateway's own work runs outside it, because requests of many connections share it (a call of Redis, a timer). So
 * an uncaught error in the context of a guard comes from Node's part of that connection, and no other error does.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

const current = new AsyncLocalStorage<ConnectionGuard>();
const outside = contextHere();
const guards = new WeakMap<object, ConnectionGuard>();

export class ConnectionGuard {
  readonly connection: Socket;
  readonly #onFault: (error: unknown) => void;
  readonly #inside: AsyncResource;

  constructor(connection: Socket, onFault: (error: unknown) => void) {
    this.connection = connection;
    this.#onFault = onFault;
    this.#inside = current.run(this, contextHere);
    this.own(connection);
  }

  own(socket: Socket): void {
    guards.set(socket, this);
    const emit = socket.emit;
    // An error of a socket is followed by `close`.
    socket.on('error', () => {});
    socket.emit = (...event: unknown[]) => {
      let hasListeners = false;
      this.enter(() => {
        hasListeners = Reflect.apply(emit, socket, event);
      });
      return hasListeners;
    };
  }

  /** Calls into Node for this connection. An error closes the connection. */
  enter(work: () => void): void {
    try {
      this.#inside.runInAsyncScope(work);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Does the gateway's own work for a request of this connection. An error closes the connection. */
  leave(work: () => void): void {
    try {
      outside.runInAsyncScope(work);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.connection.destroy();
    outside.runInAsyncScope(() => this.#onFault(error));
  }
}

/** The context in which it is called. `AsyncLocalStorage.snapshot` is the same, but a call takes eight times as long. */
function contextHere(): AsyncResource {
  return new AsyncResource('headgate', { requireManualDestroy: true });
}

export function guardOf(socket: Socket): ConnectionGuard | undefined {
  return guards.get(socket);
}

export function guardOfContext(): ConnectionGuard | undefined {
  return current.getStore();
}

/** An uncaught error of a connection closes it. Any other is reported as an `uncaughtException`, as without this. */
export function catchFaultsOfConnections(): void {
  process.setUncaughtExceptionCaptureCallback((error) => {
    const guard = guardOfContext();
    if (guard !== undefined) guard.fail(error);
    else (process as EventEmitter).emit('uncaughtException', error);
  });
}
