/** Clients of other gRPC libraries, all driven in the same way. Messages are bytes, so none of them needs definitions. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { checkRequestBytes } from '../../../support/grpc-client.ts';
import { CHECK } from '../../../support/grpc-frames.ts';

export interface CallOptions {
  readonly withinMs?: number;
  readonly gzip?: boolean;
}

/** The messages that came, and the status. */
export interface Ended {
  readonly code: number;
  readonly details: string;
  readonly messages: readonly Buffer[];
}

interface RunningCall {
  readonly ended: Promise<Ended>;
  /** Resolves to the first message. Rejects if the call ends without one. */
  readonly first: Promise<Buffer>;
  cancel(): void;
}

export interface TestedClient extends AsyncDisposable {
  /** One message each way. */
  begin(path: string, message: Buffer, options?: CallOptions): RunningCall;
  /** One message, and then what the server sends. */
  beginStream(path: string, message: Buffer, options?: CallOptions): RunningCall;
}

/** Collects what comes for one call. */
export class Collected {
  readonly ended: Promise<Ended>;
  readonly first: Promise<Buffer>;
  readonly #messages: Buffer[] = [];
  readonly #resolveFirst: (message: Buffer) => void;
  readonly #rejectFirst: (error: Error) => void;
  readonly #resolveEnded: (ended: Ended) => void;

  constructor() {
    const first = Promise.withResolvers<Buffer>();
    const ended = Promise.withResolvers<Ended>();
    this.first = first.promise;
    this.ended = ended.promise;
    this.#resolveFirst = first.resolve;
    this.#rejectFirst = first.reject;
    this.#resolveEnded = ended.resolve;
    // Not every test waits for it.
    this.first.catch(() => {});
  }

  add(message: Buffer): void {
    this.#messages.push(message);
    this.#resolveFirst(message);
  }

  end(code: number, details: string): void {
    this.#rejectFirst(new Error(`the call ended with status ${code}: ${details}`));
    this.#resolveEnded({ code, details, messages: this.#messages });
  }
}

interface SaidLine {
  readonly id: number;
  readonly message?: string;
  readonly code?: number;
  readonly details?: string;
}

/** Starts a program that reads commands and writes replies, in lines of JSON. */
export function startClientProgram(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): TestedClient {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'close');
  // A program that has ended reads no more commands: its calls end below.
  child.stdin.on('error', () => {});
  const running = new Map<number, Collected>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, message, code, details = '' } = JSON.parse(line) as SaidLine;
    if (message !== undefined) running.get(id)?.add(Buffer.from(message, 'base64'));
    if (code === undefined) return;
    running.get(id)?.end(code, details);
    running.delete(id);
  });
  child.once('close', () => {
    for (const each of running.values()) each.end(-1, 'the program of the client ended');
  });
  const say = (line: object) => child.stdin.write(`${JSON.stringify(line)}\n`);
  let calls = 0;
  const begin = (what: 'call' | 'stream', path: string, message: Buffer, options?: CallOptions) => {
    const id = ++calls;
    const collected = new Collected();
    running.set(id, collected);
    say({ id, do: what, path, message: message.toString('base64'), ...options });
    const { ended, first } = collected;
    return { ended, first, cancel: () => void say({ id, do: 'cancel' }) };
  };
  return {
    begin: (path, message, options) => begin('call', path, message, options),
    beginStream: (path, message, options) => begin('stream', path, message, options),
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
    },
  };
}

export const check = (client: TestedClient, request: object, options?: CallOptions) =>
  client.begin(CHECK, checkRequestBytes(request), options).ended;
