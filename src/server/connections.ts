/** The open connections of a server. */
import type { Socket } from 'node:net';

export class Connections {
  readonly #open = new Set<Socket>();
  #onNone: () => void = () => {};

  add(connection: Socket): void {
    this.#open.add(connection);
    connection.once('close', () => {
      this.#open.delete(connection);
      if (this.#open.size === 0) this.#onNone();
    });
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
}
