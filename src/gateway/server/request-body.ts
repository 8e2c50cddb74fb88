/** Reads bodies of requests whose head was accepted. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../core/dialect.ts';
import { type ConnectionGuard, guardOf } from './connection-guard.ts';
import { failure, withLength } from './http-check.ts';
import { READ_ANSWER_MS } from './refused-connection.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** Of all bodies that have not ended, in bytes. Each has as long as every request: five seconds. */
const MAX_UNFINISHED_BYTES = 16 * 1024 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** `take` gets the whole body. One that is too long gets 413, and one for which no memory is left 503. */
export function createBodyReader() {
  let unfinishedBytes = 0;
  return (message: IncomingMessage, response: ServerResponse, take: (body: string) => void) => {
    const { 'content-length': announced = 0, 'transfer-encoding': coding } = message.headers;
    if (Number(announced) > MAX_BODY_BYTES) return refuseBody(message, response, tooLong());
    // Node emits no events of a request without a body.
    if (Number(announced) === 0 && coding === undefined) return take('');
    let buffer: Buffer = NO_BYTES;
    let length = 0;
    const keep = (bytes: Buffer) => {
      unfinishedBytes += bytes.length - buffer.length;
      buffer = bytes;
    };
    const refuse = (answer: Answer) => {
      message.off('data', add).off('end', end);
      refuseBody(message, response, answer);
    };
    const add = (chunk: Buffer) => {
      const needed = length + chunk.length;
      if (needed > MAX_BODY_BYTES) return refuse(tooLong());
      if (needed > buffer.length) {
        if (unfinishedBytes + needed > MAX_UNFINISHED_BYTES) return refuse(overloaded());
        // Doubled, so that single bytes cost no more than long chunks.
        const larger = Buffer.allocUnsafe(Math.min(2 * needed, MAX_BODY_BYTES));
        buffer.copy(larger, 0, 0, length);
        keep(larger);
      }
      chunk.copy(buffer, length);
      length = needed;
    };
    const end = () => {
      const body = buffer.toString('utf8', 0, length);
      keep(NO_BYTES);
      guardOf(message.socket)?.leave(() => take(body));
    };
    message.on('data', add).on('end', end);
    // The caller may be gone before the end.
    message.on('close', () => keep(NO_BYTES));
  };
}

/**
 * The close of a connection with unread bytes is a reset, which can overtake the answer. So the rest of the body is dropped
 * until it ends, or for as long as the caller has to read the answer.
 */
function refuseBody(message: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const guard = guardOf(message.socket) as ConnectionGuard;
  const end = () => guard.enter(() => response.end());
  guard.enter(() => {
    response.shouldKeepAlive = false;
    response.writeHead(answer.status, withLength(answer).headers);
    response.write(answer.body);
    message.on('end', end).on('close', end).resume();
  });
  setTimeout(end, READ_ANSWER_MS).unref();
}

function tooLong(): Answer {
  return failure(413, 'payload_too_large', `Send at most ${MAX_BODY_BYTES} bytes.`);
}

function overloaded(): Answer {
  return failure(503, 'overloaded', 'Too many bodies arrive at once. Send the reports again.');
}
