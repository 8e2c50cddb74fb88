/**
 * Logs denials: at most one line a second for each client and policy, so that a client that keeps retrying cannot fill
 * the log. Each line says how many denials were not logged since the line before.
 */
import { type DenialLine, denialLine } from './denial-line.ts';
import type { DeniedClient } from './denied-clients.ts';

export interface DenialLogOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The id of a listed key, by its partition; undefined for every other partition. */
  readonly idOf: (client: string) => string | undefined;
  readonly write: (line: DenialLine) => void;
}

const EVERY_MS = 1_000;

export class DenialLog {
  readonly #options: DenialLogOptions;
  /** Clients with denials that were not logged, and that no later line has counted yet. */
  readonly #pending = new Set<DeniedClient>();

  constructor(options: DenialLogOptions) {
    this.#options = options;
  }

  /** Call this after a denial of this client was recorded. */
  add(client: DeniedClient): void {
    if (this.#options.now() - client.loggedMs >= EVERY_MS) {
      this.#write(client, client.unlogged);
      return;
    }
    client.unlogged++;
    this.#pending.add(client);
  }

  /** Logs the pending denials whose second has passed. Call this every second or so. */
  flush(): void {
    const nowMs = this.#options.now();
    for (const client of this.#pending) {
      if (nowMs - client.loggedMs >= EVERY_MS) this.conclude(client);
    }
  }

  /** Logs the pending denials of a client, if there are any. */
  conclude(client: DeniedClient): void {
    // The line itself stands for the last of them.
    if (this.#pending.has(client)) this.#write(client, client.unlogged - 1);
  }

  /** Logs all pending denials. */
  close(): void {
    for (const client of this.#pending) this.conclude(client);
  }

  #write(client: DeniedClient, suppressed: number): void {
    this.#pending.delete(client);
    client.loggedMs = this.#options.now();
    client.unlogged = 0;
    if (client.latest === undefined) return;
    const { idOf, write } = this.#options;
    const client_id = idOf(client.client);
    write(denialLine(client.latest.recorded, { client: client.client, client_id, suppressed }));
  }
}
