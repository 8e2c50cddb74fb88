import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  KEEP_ALIVE_MS,
  refuseConnection,
  refuseUnparsable,
} from '../../../../src/gateway/server/refused-connection.ts';

class FakeSocket extends EventEmitter {
  writable = true;
  bytesRead = 10;
  written = '';
  isReading = false;
  isDestroyed = false;
  idleMs: number | undefined;

  end(text: string): void {
    this.written += text;
  }
  resume(): this {
    this.isReading = true;
    return this;
  }
  destroy(): void {
    this.isDestroyed = true;
  }
  setTimeout(ms: number): void {
    this.idleMs = ms;
  }
}

const asSocket = (fake: FakeSocket) => fake as unknown as Socket;
const errorWith = (code: string) => Object.assign(new Error(code), { code });

let socket: FakeSocket;
beforeEach(() => {
  vi.useFakeTimers();
  socket = new FakeSocket();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a request that Node cannot parse', () => {
  test.each([
    ['HPE_INVALID_METHOD', 'HTTP/1.1 400 Bad Request'],
    ['HPE_HEADER_OVERFLOW', 'HTTP/1.1 431 Request Header Fields Too Large'],
    ['ERR_HTTP_REQUEST_TIMEOUT', 'HTTP/1.1 408 Request Timeout'],
  ])('is refused: %s', (code, status) => {
    refuseUnparsable(errorWith(code), asSocket(socket));
    expect(socket.written).toBe(`${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    expect(socket.isDestroyed).toBe(false);
  });

  test('is refused once, and what follows is read and dropped', () => {
    refuseUnparsable(errorWith('HPE_INVALID_METHOD'), asSocket(socket));
    const { written } = socket;
    refuseUnparsable(errorWith('HPE_INVALID_METHOD'), asSocket(socket));
    refuseUnparsable(errorWith('ECONNRESET'), asSocket(socket));
    expect(socket).toMatchObject({ written, isReading: true, isDestroyed: false });
  });

  test.each([
    ['from a caller that is gone', 'ECONNRESET', true],
    ['on a connection that cannot be written to', 'HPE_INVALID_METHOD', false],
  ])('%s closes the connection without an answer', (_, code, writable) => {
    socket.writable = writable;
    refuseUnparsable(errorWith(code), asSocket(socket));
    expect(socket).toMatchObject({ written: '', isDestroyed: true });
  });
});

test('a connection that has sent nothing yet is kept for longer than any proxy keeps it', () => {
  socket.bytesRead = 0;
  refuseUnparsable(errorWith('ERR_HTTP_REQUEST_TIMEOUT'), asSocket(socket));
  expect(socket).toMatchObject({ written: '', isDestroyed: false, idleMs: KEEP_ALIVE_MS });
  // Envoy keeps an idle connection for an hour.
  expect(KEEP_ALIVE_MS).toBeGreaterThan(3_600_000);
});

describe('a refused connection', () => {
  test('is closed when the caller has had time to read the answer', () => {
    refuseConnection(asSocket(socket), '405 Method Not Allowed');
    expect(socket.written).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    vi.advanceTimersByTime(499);
    expect(socket.isDestroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(socket.isDestroyed).toBe(true);
  });

  test('is closed at once when it breaks', () => {
    refuseConnection(asSocket(socket), '400 Bad Request');
    socket.emit('error', new Error('EPIPE'));
    expect(socket.isDestroyed).toBe(true);
  });
});
