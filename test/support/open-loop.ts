/**
 * Load at a rate that does not depend on how fast it is answered: a request is due at its time, and its wait is
 * counted from then on, also while no connection is free (so nothing is left out of the picture when answers stall).
 *
 * Sockets and a reader of its own, since a client of node:http costs several times what the gateway does.
 */
import { connect, type Socket } from 'node:net';

export interface LoadRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface LoadOptions {
  readonly url: string;
  readonly perSecond: number;
  /** The i-th request. */
  readonly request: (i: number) => LoadRequest;
  readonly onOutcome: (outcome: Outcome) => void;
  /** How long a client waits before it hangs up. */
  readonly patienceMs?: number;
  readonly maxConnections?: number;
}

export interface Outcome {
  /** The number of the request. */
  readonly i: number;
  /** When it was due, by performance.now(). */
  readonly dueMs: number;
  /** From then on to the last byte of the answer, or to giving up. */
  readonly tookMs: number;
  /** 0: there was no answer, for the reason in `error`. */
  readonly status: number;
  readonly error: string | undefined;
  /** The status line and the headers of the answer, names in lower case. */
  readonly head: string;
}

export interface Load {
  /** Requests that were due so far. */
  readonly count: number;
  /** No more requests; resolves when all of them have their outcome. */
  stop(): Promise<void>;
}

const DEFAULT_PATIENCE_MS = 5_000;
const DEFAULT_CONNECTIONS = 256;
const END_OF_HEAD = '\r\n\r\n';

interface Pending {
  readonly i: number;
  readonly dueMs: number;
}

/** Status 0 has an error, every other a head. */
type Settle = (pending: Pending, status: number, error: string | undefined, head: string) => void;

/** Starts at once, and goes on until it is stopped. */
export function startLoad(options: LoadOptions): Load {
  const { perSecond, patienceMs = DEFAULT_PATIENCE_MS } = options;
  const { maxConnections = DEFAULT_CONNECTIONS } = options;
  const startMs = performance.now();
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const waiting: Pending[] = [];
  let count = 0;
  let open = 0;
  let stopped: (() => void) | undefined;

  const settle: Settle = (pending, status, error, head) => {
    const tookMs = performance.now() - pending.dueMs;
    open--;
    options.onOutcome({ ...pending, tookMs, status, error, head });
    if (open === 0) stopped?.();
  };
  const dispatch = (pending: Pending) => {
    const connection = idle.pop();
    if (connection !== undefined) connection.send(pending);
    else if (all.size < maxConnections) dial().send(pending);
    else waiting.push(pending);
  };
  const dial = () => {
    const connection = new Connection(options, settle, {
      onIdle: () => {
        const next = waiting.shift();
        if (next === undefined) idle.push(connection);
        else connection.send(next);
      },
      onGone: () => {
        all.delete(connection);
        const place = idle.indexOf(connection);
        if (place !== -1) idle.splice(place, 1);
        const next = waiting.shift();
        if (next !== undefined) dispatch(next);
      },
    });
    all.add(connection);
    return connection;
  };
  const tick = () => {
    const nowMs = performance.now();
    const due = Math.floor(((nowMs - startMs) * perSecond) / 1000);
    while (count < due) {
      open++;
      dispatch({ i: count, dueMs: startMs + (count * 1000) / perSecond });
      count++;
    }
    for (const connection of all) connection.giveUpIfSince(nowMs - patienceMs);
    while (waiting[0] !== undefined && waiting[0].dueMs < nowMs - patienceMs) {
      settle(waiting.shift() as Pending, 0, 'no connection was free in time', '');
    }
  };
  const timer = setInterval(tick, 1);

  return {
    get count() {
      return count;
    },
    async stop() {
      // From now on nothing is due, and what waits for an answer still loses its patience.
      clearInterval(timer);
      const last = setInterval(() => {
        const nowMs = performance.now();
        for (const connection of all) connection.giveUpIfSince(nowMs - patienceMs);
      }, 5);
      if (open > 0) {
        await new Promise<void>((resolve) => {
          stopped = resolve;
        });
      }
      clearInterval(last);
      for (const connection of all) connection.close();
    },
  };
}

/** One request after the other. */
class Connection {
  readonly #socket: Socket;
  readonly #host: string;
  readonly #request: LoadOptions['request'];
  readonly #settle: Settle;
  readonly #onIdle: () => void;
  #pending: Pending | undefined;
  #received = '';

  constructor(
    { url, request }: LoadOptions,
    settle: Settle,
    { onIdle, onGone }: { readonly onIdle: () => void; readonly onGone: () => void },
  ) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    this.#request = request;
    this.#settle = settle;
    this.#onIdle = onIdle;
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.setEncoding('latin1').on('data', (text: string) => this.#read(text));
    let fault = 'closed by the server';
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      fault = error.code ?? error.message;
    });
    this.#socket.on('close', () => {
      this.#finish(0, fault);
      onGone();
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
    this.#finish(0, 'no answer in time');
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
    this.#finish(Number(head.slice(9, 12)), undefined, head);
    if (closes) this.#socket.destroy();
    else this.#onIdle();
  }

  #finish(status: number, error: string | undefined, head = ''): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    this.#settle(pending, status, error, head);
  }
}

/** The value of a header of an answer; undefined when it has none. */
export function headerOf({ head }: Outcome, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}: `);
  if (start === -1) return undefined;
  const value = head.slice(start + name.length + 4);
  const end = value.indexOf('\r\n');
  return end === -1 ? value : value.slice(0, end);
}

/** The smallest value that this share of them does not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
