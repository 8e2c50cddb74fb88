/**
 * Everything that a process has opened: connections, ports, timers, workers. Whatever opens something adds it here at
 * once, so that one place closes all of it, after a start that failed as well as at the end.
 */

export class OpenResources {
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Returns the resource. `close` is called with it in `close()`, or now if that has been called already. */
  add<T>(resource: T, close: (resource: T) => unknown): T {
    this.#closers.push(() => close(resource));
    if (this.isClosing) this.#closing = Promise.all([this.#closing, this.#closeAll()]).then();
    return resource;
  }

  addClosable<T extends { close(): unknown }>(resource: T): T {
    return this.add(resource, (opened) => opened.close());
  }

  /** Closes in the reverse order of opening. Rejects with the first error, once it has tried to close everything. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
