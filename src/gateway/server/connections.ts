/** The connections of a server of proxies: which part of the process answers them, and how many can be open. */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Others accept its connections. */
export interface ProxyServer {
  /** Resolves once it can answer. */
  ready(): Promise<void>;
  take(connection: Socket): void;
  /** Waits at most so many milliseconds for requests that have begun, and closes every connection. */
  close(withinMs: number): Promise<void>;
}

/** About 100 MiB of memory. */
const MAX_CONNECTIONS = 10_000;
/** Other ports, Redis and files need the rest. */
const SHARE_OF_OPEN_FILES = 1 / 4;

export interface ConnectionsOptions {
  readonly max?: number;
  /** A connection without a request is closed after so many milliseconds. Without it, it stays open. */
  readonly firstRequestWithinMs?: number;
}

export class Connections {
  readonly #max: number;
  readonly #firstRequestWithinMs: number | undefined;
  /** The one whose last request is oldest comes first. */
  readonly #open = new Set<Socket>();
  /** Connections that have made no request yet, the oldest first, and what closes them if they make none in time. */
  readonly #unused = new Map<Socket, NodeJS.Timeout | undefined>();
  #onNone: () => void = () => {};

  constructor({ max = MAX_CONNECTIONS, firstRequestWithinMs }: ConnectionsOptions = {}) {
    this.#max = Math.min(max, Math.floor(openFilesLimit() * SHARE_OF_OPEN_FILES));
    this.#firstRequestWithinMs = firstRequestWithinMs;
  }

  /** If there are too many, closes the oldest that never made a request, else this one. Returns whether this one is open. */
  add(connection: Socket): boolean {
    if (this.#open.size >= this.#max) this.#giveWay(connection);
    if (connection.destroyed) return false;
    this.#watch(connection);
    this.#unused.set(connection, this.#closeIfUnused(connection));
    return true;
  }

  /** Call it for each request, if connections are added with `add`. */
  hasRequest(connection: Socket): void {
    if (this.#unused.size === 0) return;
    clearTimeout(this.#unused.get(connection));
    this.#unused.delete(connection);
  }

  /** If there are too many, closes the one that was used least recently. */
  addInPlaceOfLeastRecent(connection: Socket): void {
    const [leastRecent] = this.#open;
    if (this.#open.size >= this.#max) leastRecent?.destroy();
    this.#watch(connection);
  }

  /** Call it for each request, if connections are added in place of the least recent one. */
  use(connection: Socket): void {
    if (this.#open.delete(connection)) this.#open.add(connection);
  }

  /** Resolves once all are closed. After so many milliseconds the rest is cut off. */
  async ended(withinMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    const none = new Promise<void>((resolve) => {
      this.#onNone = resolve;
    });
    const cutOff = setTimeout(() => {
      for (const connection of this.#open) connection.destroy();
    }, withinMs);
    await none;
    clearTimeout(cutOff);
  }

  #watch(connection: Socket): void {
    this.#open.add(connection);
    connection.once('close', () => {
      this.#open.delete(connection);
      this.hasRequest(connection);
      if (this.#open.size === 0) this.#onNone();
    });
  }

  #closeIfUnused(connection: Socket): NodeJS.Timeout | undefined {
    if (this.#firstRequestWithinMs === undefined) return undefined;
    const close = () => {
      if (this.#unused.has(connection)) connection.destroy();
    };
    // If the gateway is late, the request may have arrived: the sockets are read before `setImmediate`.
    return setTimeout(() => setImmediate(close), this.#firstRequestWithinMs).unref();
  }

  #giveWay(newest: Socket): void {
    const [oldest = newest] = this.#unused.keys();
    this.hasRequest(oldest);
    oldest.destroy();
  }
}

function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
