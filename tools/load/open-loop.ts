/**
 * Open-loop load: requests are sent at a fixed rate, however slowly they are answered. The wait of a request counts
 * from the moment it was due, also while no connection is free, so a stall of the server shows in full.
 *
 * Uses plain sockets, because a client of node:http costs several times what the gateway does.
 */
import { LoadConnection, type LoadRequest, type Pending } from './load-connection.ts';
import { waitTowards } from './precise-wait.ts';

export type { LoadRequest } from './load-connection.ts';

export interface LoadOptions {
  readonly url: string;
  /** The address of this machine from which connections are opened. Default: the kernel's choice. */
  readonly localAddress?: string | undefined;
  readonly perSecond: number;
  /** The i-th request. */
  readonly request: (i: number) => LoadRequest;
  readonly onOutcome: (outcome: Outcome) => void;
  /** How long a client waits before it hangs up. */
  readonly patienceMs?: number;
  readonly maxConnections?: number;
  /** Sends within 0.1 ms of the due moment instead of 1 ms. The load then keeps its process busy. */
  readonly isPrecise?: boolean;
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
  /** Ends the load. Resolves when every request has its outcome. */
  stop(): Promise<void>;
}

const DEFAULT_PATIENCE_MS = 5_000;
const DEFAULT_CONNECTIONS = 256;

/** Starts at once and runs until it is stopped. */
export function startLoad(options: LoadOptions): Load {
  const { perSecond, patienceMs = DEFAULT_PATIENCE_MS } = options;
  const connections = new ConnectionPool(options);
  const startMs = performance.now();
  const dueMsOf = (i: number) => startMs + (i * 1000) / perSecond;
  let count = 0;
  const tick = () => {
    const nowMs = performance.now();
    for (; dueMsOf(count) <= nowMs; count++) {
      connections.send({ i: count, dueMs: dueMsOf(count) });
    }
    connections.giveUpIfSince(nowMs - patienceMs);
  };
  const stopTicking = options.isPrecise
    ? repeatPrecisely(tick, () => dueMsOf(count))
    : repeatEvery(1, tick);

  return {
    get count() {
      return count;
    },
    async stop() {
      stopTicking();
      const stopGivingUp = repeatEvery(5, () =>
        connections.giveUpIfSince(performance.now() - patienceMs),
      );
      await connections.settled();
      stopGivingUp();
      connections.close();
    },
  };
}

function repeatEvery(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms);
  return () => clearInterval(timer);
}

function repeatPrecisely(work: () => void, nextMs: () => number): () => void {
  let isStopped = false;
  void (async () => {
    while (!isStopped) {
      work();
      await waitTowards(nextMs());
    }
  })();
  return () => {
    isStopped = true;
  };
}

/** Sends each request on a free connection, and queues it while there is none. */
class ConnectionPool {
  readonly #options: LoadOptions;
  readonly #maxConnections: number;
  readonly #idle: LoadConnection[] = [];
  readonly #all = new Set<LoadConnection>();
  readonly #waiting: Pending[] = [];
  #open = 0;
  #onSettled: (() => void) | undefined;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#maxConnections = options.maxConnections ?? DEFAULT_CONNECTIONS;
  }

  send(pending: Pending): void {
    this.#open++;
    this.#dispatch(pending);
  }

  giveUpIfSince(dueMs: number): void {
    for (const connection of this.#all) connection.giveUpIfSince(dueMs);
    while (this.#waiting[0] !== undefined && this.#waiting[0].dueMs < dueMs) {
      const pending = this.#waiting.shift() as Pending;
      this.#settle(pending, { status: 0, error: 'no connection was free in time', head: '' });
    }
  }

  async settled(): Promise<void> {
    if (this.#open === 0) return;
    await new Promise<void>((resolve) => {
      this.#onSettled = resolve;
    });
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  #dispatch(pending: Pending): void {
    const connection = this.#idle.pop();
    if (connection !== undefined) connection.send(pending);
    else if (this.#all.size < this.#maxConnections) this.#dial().send(pending);
    else this.#waiting.push(pending);
  }

  #dial(): LoadConnection {
    const connection: LoadConnection = new LoadConnection(this.#options, {
      onAnswer: (pending, answer) => this.#settle(pending, answer),
      onIdle: () => {
        const next = this.#waiting.shift();
        if (next === undefined) this.#idle.push(connection);
        else connection.send(next);
      },
      onGone: () => {
        this.#all.delete(connection);
        const place = this.#idle.indexOf(connection);
        if (place !== -1) this.#idle.splice(place, 1);
        const next = this.#waiting.shift();
        if (next !== undefined) this.#dispatch(next);
      },
    });
    this.#all.add(connection);
    return connection;
  }

  #settle(pending: Pending, answer: Pick<Outcome, 'status' | 'error' | 'head'>): void {
    const tookMs = performance.now() - pending.dueMs;
    this.#open--;
    this.#options.onOutcome({ ...pending, tookMs, ...answer });
    if (this.#open === 0) this.#onSettled?.();
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
