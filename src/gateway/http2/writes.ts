/** Writes what connections have to send, once for each connection and turn of the event loop. */

/** `flush` must not throw, because others are written after it. */
interface Writable {
  flush(): void;
}

/**
 * A write costs more than the frames in it, and wakes its reader. Answers of a turn are usually given at its end, one after
 * the other, and are written when the last of them was given. Everything else waits for the end of the turn, because
 * answers may follow.
 */
export class Writes {
  #due = new Set<Writable>();
  #isNear = false;
  #isPlanned = false;

  /** After the current callback. */
  soon(connection: Writable): void {
    this.#due.add(connection);
    if (this.#isNear) return;
    this.#isNear = true;
    process.nextTick(this.#flush);
  }

  atEndOfTurn(connection: Writable): void {
    this.#due.add(connection);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  readonly #flush = (): void => {
    this.#isNear = false;
    const due = this.#due;
    this.#due = new Set();
    for (const connection of due) connection.flush();
  };
}
