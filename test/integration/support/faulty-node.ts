/**
 * Loaded into a gateway (`node --import`): its Node throws when it writes certain bytes to a connection, and when the
 * gateway gets SIGWINCH. This is how a fault of Node or of headgate looks that no test knows yet.
 */
import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** By the data of an HTTP/2 PING, which the gateway sends back, or a part of a path. */
const THROWS: Record<string, () => void> = {
  'fault-00': fault,
  'fault-01': () => process.nextTick(fault),
  'fault-02': () => setImmediate(fault),
  'fault-03': () => void Promise.resolve().then(fault),
};

function fault(): never {
  throw new Error('a fault');
}

function throwFor(text: string): void {
  for (const [marker, throwNow] of Object.entries(THROWS)) {
    if (text.includes(marker)) throwNow();
  }
}

const { write } = Socket.prototype;
Socket.prototype.write = function (this: Socket, ...sent: unknown[]) {
  const [chunk] = sent;
  if (Buffer.isBuffer(chunk)) throwFor(chunk.toString('latin1'));
  return Reflect.apply(write, this, sent);
};

const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (this: ServerResponse, ...sent: unknown[]) {
  throwFor(this.req.url ?? '');
  return Reflect.apply(end, this, sent);
};

process.on('SIGWINCH', fault);
