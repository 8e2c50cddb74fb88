/**
 * A server that speaks enough of RESP2 and RESP3 for a gateway to count in it. Tests can replace its answers. Its correct
 * answer to a take is always the limit less one, so any other number belongs to another request or was made up.
 */
import { createServer, type Socket } from 'node:net';
import { TAKE_SCRIPT, TAKE_SCRIPT_SHA } from '../../src/gateway/stores/redis/take-script.ts';
import { listenLocally } from './local-server.ts';

/** A command and its connection. */
export interface Question {
  /** In lower case; `take` for the script that counts, however it is called. */
  readonly name: string;
  readonly words: readonly string[];
  readonly socket: Socket;
  /** The answer of a healthy server. */
  readonly answer: string;
  /** From now on, nothing is answered on this connection, even without a fault. */
  fallSilent(): void;
}

/** Returns true if it has handled the command. Otherwise the server sends the correct answer. */
export type Fault = (question: Question) => boolean;

export interface FakeRedis extends AsyncDisposable {
  readonly url: string;
  /** Replaces the previous fault. */
  misbehave(fault: Fault | undefined): void;
  /** Sends these bytes on all connections, also without a command. */
  say(bytes: string | Buffer): void;
  /** Clients must then connect and say hello again. */
  dropConnections(): void;
}

export async function startFakeRedis(): Promise<FakeRedis> {
  const sockets = new Set<Socket>();
  const values = new Map<string, string>();
  let fault: Fault | undefined;
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const speaker = { isRESP3: false };
    let rest: Buffer = Buffer.alloc(0);
    let isSilent = false;
    const fallSilent = () => {
      isSilent = true;
    };
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let parsed = parseCommand(rest); parsed !== undefined; parsed = parseCommand(rest)) {
        rest = rest.subarray(parsed.length);
        const { words } = parsed;
        const name = nameOf(words);
        const answer = trueAnswer(name, words, values, speaker);
        if (isSilent) continue;
        const isSeenTo = fault?.({ name, words, socket, answer, fallSilent }) ?? false;
        if (!isSeenTo && socket.writable) socket.write(answer, 'latin1');
      }
    });
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    // Redis closes when its client does. A fault may keep the connection open.
    socket.on('end', () => {
      if (fault === undefined || !stays.has(fault)) socket.destroy();
    });
  });
  const { port, [Symbol.asyncDispose]: close } = await listenLocally(server);
  return {
    url: `redis://127.0.0.1:${port}`,
    misbehave(next) {
      fault = next;
    },
    say(bytes) {
      for (const socket of sockets) if (socket.writable) socket.write(bytes);
    },
    dropConnections() {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: close,
  };
}

const stays = new WeakSet<Fault>();

/** A fault whose connections stay open when the client closes its side. */
export function staying(fault: Fault): Fault {
  stays.add(fault);
  return fault;
}

function nameOf([command = '', script = '']: readonly string[]): string {
  const name = command.toLowerCase();
  if (name === 'evalsha' && script === TAKE_SCRIPT_SHA) return 'take';
  if (name === 'eval' && script === TAKE_SCRIPT) return 'take';
  return name;
}

/** Reads a command such as `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`. Returns undefined while a part is missing. */
function parseCommand(bytes: Buffer): { words: string[]; length: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n');
  if (lineEnd === -1) return undefined;
  const count = Number(bytes.toString('latin1', 1, lineEnd));
  const words: string[] = [];
  let at = lineEnd + 2;
  while (words.length < count) {
    const end = bytes.indexOf('\r\n', at);
    if (end === -1) return undefined;
    const length = Number(bytes.toString('latin1', at + 1, end));
    if (bytes.length < end + 2 + length + 2) return undefined;
    words.push(bytes.toString('latin1', end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
  return { words, length: at };
}

function trueAnswer(
  name: string,
  words: readonly string[],
  values: Map<string, string>,
  speaker: { isRESP3: boolean },
): string {
  const [, first = '', second = ''] = words;
  switch (name) {
    case 'hello':
      speaker.isRESP3 = first === '3';
      return `${speaker.isRESP3 ? '%2' : '*4'}\r\n${bulk('server')}${bulk('redis')}${bulk('proto')}:${first}\r\n`;
    case 'ping':
      return '+PONG\r\n';
    case 'info':
      return bulk('redis_version:7.0.15\r\nrole:master\r\nloading:0\r\n');
    case 'subscribe':
      return `${speaker.isRESP3 ? '>' : '*'}3\r\n${bulk('subscribe')}${bulk(first)}:1\r\n`;
    case 'get': {
      const value = values.get(first);
      if (value !== undefined) return bulk(value);
      return speaker.isRESP3 ? '_\r\n' : '$-1\r\n';
    }
    case 'set':
      if (!values.has(first)) values.set(first, second);
      return '+OK\r\n';
    case 'publish':
    case 'del':
      return ':0\r\n';
    case 'take':
      return numbers(takeReply(words));
    case 'eval':
      // The list of gateways: only the caller.
      return `*1\r\n${bulk(words[4] ?? '')}`;
    case 'auth':
    case 'select':
    case 'client':
      return '+OK\r\n';
    default:
      return `-ERR unknown command '${name}'\r\n`;
  }
}

export function bulk(text: string): string {
  return `$${Buffer.byteLength(text, 'latin1')}\r\n${text}\r\n`;
}

export function numbers(values: readonly number[]): string {
  return `*${values.length}\r\n${values.map((value) => `:${value}\r\n`).join('')}`;
}

/** A quota of a take: the row of arguments for its key, see lua/take.lua. */
export interface AskedQuota {
  readonly limit: number;
  readonly windowMs: number;
}

export function quotasOf(words: readonly string[]): AskedQuota[] {
  const count = Number(words[2]);
  const [, , plan = '', ...rows] = words.slice(3 + count);
  return Array.from({ length: count }, (_, i) => {
    const low = plan.charCodeAt(2 * i) - 32;
    const high = (plan.charCodeAt(2 * i + 1) - 32) & 63;
    const row = 6 * (low + 64 * high);
    return { limit: Number(rows[row + 1]), windowMs: Number(rows[row + 2]) };
  });
}

/** The reply of the script to this call: it admits the request, and the limit less one remains. */
export function takeReply(words: readonly string[]): number[] {
  const call = Number(words[3 + Number(words[2]) + 1]);
  const reply = [call, Date.now()];
  for (const { limit, windowMs } of quotasOf(words)) reply.push(limit - 1, windowMs);
  return reply;
}
