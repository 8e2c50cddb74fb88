/** Keeps what this gateway knows what all of them know: looks now and then, and until it succeeds many times a second. */

export interface RefresherOptions {
  /** Rejects while it cannot be known. */
  readonly refresh: () => Promise<void>;
  /** Between looks, milliseconds. */
  readonly everyMs: number;
  readonly onFailure: (error: Error) => void;
}

/** A cluster's nodes are connected one after the other: the first tries may come too early. */
const RETRY_MS = 100;

export class Refresher {
  readonly #options: RefresherOptions;
  #refreshing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #wake = () => {};

  constructor(options: RefresherOptions) {
    this.#options = options;
  }

  /** Tries at once. Resolves once it succeeded, or nobody needs it any more. */
  refresh(): Promise<void> {
    this.#timer ??= setInterval(() => void this.refresh(), this.#options.everyMs);
    this.#refreshing ??= this.#tryUntilDone().finally(() => {
      this.#refreshing = undefined;
    });
    this.#wake();
    return this.#refreshing;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#wake();
  }

  async #tryUntilDone(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#options.refresh();
        return;
      } catch (error) {
        this.#options.onFailure(error as Error);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, RETRY_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
