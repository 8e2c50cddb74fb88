/** Writes what connections have to send, once for each connection and turn of the event loop. */

export interface Writable {
  /** Set by `Writes`. */
  isDue: boolean;
  /** Must not throw, because others are written after it. */
  flush(): void;
}

/**
 * A write costs more than the frames in it, and wakes its reader. Answers of a turn are usually given at its end, one after
 * the other, and are written when the last of them was given. Everything else waits for the end of the turn, because
 * answers may follow.
 */
export class Writes {
  #due: Writable[] = [];
  #isNear = false;
  #isPlanned = false;

  /** After the current callback. */
  soon(connection: Writable): void {
    this.#add(connection);
    if (this.#isNear) return;
    this.#isNear = true;
    process.nextTick(this.#flushNear);
  }

  atEndOfTurn(connection: Writable): void {
    this.#add(connection);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(this.#flushPlanned);
  }

  #add(connection: Writable): void {
    if (connection.isDue) return;
    connection.isDue = true;
    this.#due.push(connection);
  }

  readonly #flushNear = () => {
    this.#isNear = false;
    this.#flush();
  };

  readonly #flushPlanned = () => {
    this.#isPlanned = false;
    this.#flush();
  };

  #flush(): void {
    const due = this.#due;
    this.#due = [];
    for (const connection of due) {
      connection.isDue = false;
      connection.flush();
    }
  }
}
