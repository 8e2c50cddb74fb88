/** Keeps something that all gateways share up to date: reads it at intervals, and retries quickly until that succeeds. */

export interface RefresherOptions {
  readonly refresh: () => Promise<void>;
  readonly everyMs: number;
  readonly onFailure: (error: Error) => void;
}

/** The nodes of a cluster connect one after the other, so the first tries may come too early. */
const RETRY_MS = 100;

export class Refresher {
  readonly #options: RefresherOptions;
  #refreshing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #retryNow = () => {};

  constructor(options: RefresherOptions) {
    this.#options = options;
  }

  /** Reads at once. Resolves once that has succeeded, or this is closed. */
  refresh(): Promise<void> {
    this.#timer ??= setInterval(() => void this.refresh(), this.#options.everyMs);
    this.#refreshing ??= this.#tryUntilDone().finally(() => {
      this.#refreshing = undefined;
    });
    this.#retryNow();
    return this.#refreshing;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#retryNow();
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
        this.#retryNow = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
