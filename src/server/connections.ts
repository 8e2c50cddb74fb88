/** The open connections of a server, of which there is a bound. */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Some 100 MiB of memory. */
const MOST = 10_000;
/** The rest is for other ports, Redis and files. */
const SHARE_OF_OPEN_FILES = 1 / 4;

export class Connections {
  readonly #most: number;
  /** The oldest first. */
  readonly #open = new Set<Socket>();
  /** Those that had said nothing when they were last looked at. */
  readonly #silent = new Set<Socket>();
  #onNone: () => void = () => {};

  constructor(most = Math.min(MOST, Math.floor(openFilesLimit() * SHARE_OF_OPEN_FILES))) {
    this.#most = most;
  }

  /** If there are too many, closes the oldest that never said anything, or else this one. Returns whether it is open. */
  add(connection: Socket): boolean {
    if (this.#open.size >= this.#most) (this.#oldestSilent() ?? connection).destroy();
    if (connection.destroyed) return false;
    this.#watch(connection);
    return true;
  }

  /** If there are too many, closes the oldest. */
  addInPlaceOfOldest(connection: Socket): void {
    const [oldest] = this.#open;
    if (this.#open.size >= this.#most) oldest?.destroy();
    this.#watch(connection);
  }

  /** Resolves once all of them are closed. Those still open after so many milliseconds are cut off. */
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
    this.#silent.add(connection);
    connection.once('close', () => {
      this.#open.delete(connection);
      this.#silent.delete(connection);
      if (this.#open.size === 0) this.#onNone();
    });
  }

  #oldestSilent(): Socket | undefined {
    for (const connection of this.#silent) {
      if (connection.bytesRead === 0 && !connection.destroyed) return connection;
      this.#silent.delete(connection);
    }
    return undefined;
  }
}

/** How many files and connections this process may have open. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
