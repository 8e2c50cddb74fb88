/** One connection of the open-loop load: sends a request, reads its answer, then takes the next one. */
import { connect, type Socket } from 'node:net';

export interface LoadRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that has no answer yet. */
export interface Pending {
  readonly i: number;
  readonly dueMs: number;
}

export interface Answer {
  /** 0: there was no answer, for the reason in `error`. */
  readonly status: number;
  readonly error: string | undefined;
  readonly head: string;
}

export interface ConnectionEvents {
  readonly onAnswer: (pending: Pending, answer: Answer) => void;
  readonly onIdle: () => void;
  readonly onGone: () => void;
}

interface Target {
  readonly url: string;
  readonly localAddress?: string | undefined;
  readonly request: (i: number) => LoadRequest;
}

const END_OF_HEAD = '\r\n\r\n';

export class LoadConnection {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #request: Target['request'];
  readonly #events: ConnectionEvents;
  #pending: Pending | undefined;
  #received = '';

  constructor({ url, localAddress, request }: Target, events: ConnectionEvents) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    this.#request = request;
    this.#events = events;
    this.#socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      ...(localAddress !== undefined && { localAddress }),
    });
    this.#socket.setEncoding('latin1').on('data', (text: string) => this.#read(text));
    let fault = 'closed by the server';
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      fault = error.code ?? error.message;
    });
    this.#socket.on('close', () => {
      this.#finish({ status: 0, error: fault, head: '' });
      events.onGone();
    });
  }

  send(pending: Pending): void {
    this.#pending = pending;
    const { method = 'GET', path, headers = {} } = this.#request(pending.i);
    let text = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n`;
    for (const [name, value] of Object.entries(headers)) text += `${name}: ${value}\r\n`;
    this.#socket.write(`${text}\r\n`);
  }

  giveUpIfSince(dueMs: number): void {
    if (this.#pending === undefined || this.#pending.dueMs >= dueMs) return;
    this.#finish({ status: 0, error: 'no answer in time', head: '' });
    this.#socket.destroy();
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf(END_OF_HEAD);
    if (end === -1) return;
    const head = this.#received.slice(0, end).toLowerCase();
    const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0);
    if (this.#received.length < end + END_OF_HEAD.length + length) return;
    this.#received = '';
    const closes = head.includes('\r\nconnection: close');
    this.#finish({ status: Number(head.slice(9, 12)), error: undefined, head });
    if (closes) this.#socket.destroy();
    else this.#events.onIdle();
  }

  #finish(answer: Answer): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    this.#events.onAnswer(pending, answer);
  }
}
