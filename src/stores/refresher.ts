/** Keeps the salts of this gateway those of all: looks every minute, and until it succeeds many times a second. */

export interface SaltKeeperOptions {
  /** Rejects while the salts cannot be shared. */
  readonly refresh: () => Promise<void>;
  readonly onFailure: (error: Error) => void;
}

const EVERY_MS = 60_000;
/** A cluster's nodes are connected one after the other: the first tries may come too early. */
const RETRY_MS = 100;

export class SaltKeeper {
  readonly #options: SaltKeeperOptions;
  #sharing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #wake = () => {};

  constructor(options: SaltKeeperOptions) {
    this.#options = options;
  }

  /** Tries at once. Resolves once they are shared, or nobody needs them any more. */
  share(): Promise<void> {
    this.#timer ??= setInterval(() => void this.share(), EVERY_MS);
    this.#sharing ??= this.#tryUntilShared().finally(() => {
      this.#sharing = undefined;
    });
    this.#wake();
    return this.#sharing;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#wake();
  }

  async #tryUntilShared(): Promise<void> {
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
