/** Closes connections with a status when Node cannot parse what they send. Such a request is never allowed. */
import type { Socket } from 'node:net';

/** Every proxy closes its idle connections sooner (Envoy: after an hour), so no proxy uses one that was just closed. */
export const KEEP_ALIVE_MS = 3_620_000;

/** How long a refused caller has to read the answer. */
export const READ_ANSWER_MS = 500;

const STATUSES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const answered = new WeakSet<Socket>();

/** A listener of `clientError`. */
export function refuseUnparsable({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  // A reset now would overtake the answer, and a proxy that fails open would see a gateway that is down. So what the
  // caller still sends is read and dropped.
  if (answered.has(socket)) return;
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
    // Envoy and Go open connections in advance. Closing one could lose its first request.
    return void socket.setTimeout(KEEP_ALIVE_MS);
  }
  refuseConnection(socket, STATUSES[code] ?? '400 Bad Request');
}

/** `body` is JSON in ASCII, or empty. */
export function refuseConnection(socket: Socket, status: string, body = ''): void {
  answered.add(socket);
  // The caller may be gone, or may never close its side.
  socket.on('error', () => socket.destroy()).resume();
  const type = body === '' ? '' : 'Content-Type: application/json; charset=utf-8\r\n';
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\n${type}Content-Length: ${body.length}`;
  socket.end(`${head}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), READ_ANSWER_MS).unref();
}
