/**
 * Stops asking a store that is too slow, so that no request waits for it any more, and asks again once it answers.
 *
 * A store that refuses at once makes nobody wait, and is asked every time: it is back the moment it takes a request.
 */
import { type Descriptor, type QuotaStore, StoreError, type TakeResult } from '../core/store.ts';

export interface BreakerOptions {
  readonly store: QuotaStore;
  /** Resolves when the store answers in time, to a question that no client waits for. */
  readonly probe: () => Promise<unknown>;
  readonly onOpen?: () => void;
  /** None of several probes was answered: perhaps it is the way to the store that is broken. */
  readonly onSilence?: () => void;
  /** Told of every probe in vain. */
  readonly onStillOpen?: (error: unknown) => void;
  readonly onClose?: () => void;
}

/** One late answer may be chance. Requests that went together are late together, which is one. */
const TIMEOUTS_IN_A_ROW = 5;
const PROBES_BEFORE_SILENCE = 4;
const PROBE_EVERY_MS = 100;
/** Gateways that gave up together should not ask together. */
const PROBE_JITTER_MS = 50;

/** One for all: making an error, with its stack, costs more than taking a request. */
const GIVEN_UP = new StoreError('given_up', 'the store is too slow');

export class Breaker implements QuotaStore {
  readonly #options: BreakerOptions;
  #timeouts = 0;
  #hasCounted = false;
  #isOpen = false;
  #failedProbes = 0;
  #probing: NodeJS.Timeout | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    if (this.#isOpen) return Promise.reject(GIVEN_UP);
    return this.#ask(descriptors);
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#options.store.reset(keys);
  }

  /** Probes no more. */
  close(): void {
    clearTimeout(this.#probing);
  }

  async #ask(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    try {
      const result = await this.#options.store.take(descriptors);
      this.#timeouts = 0;
      return result;
    } catch (error) {
      if (error instanceof StoreError && error.reason === 'timeout') this.#countTimeout();
      throw error;
    }
  }

  #countTimeout(): void {
    if (this.#hasCounted) return;
    this.#hasCounted = true;
    setImmediate(() => {
      this.#hasCounted = false;
    });
    this.#timeouts++;
    if (this.#timeouts < TIMEOUTS_IN_A_ROW || this.#isOpen) return;
    this.#isOpen = true;
    this.#options.onOpen?.();
    this.#probeSoon();
  }

  #probeSoon(): void {
    const waitMs = PROBE_EVERY_MS + Math.random() * PROBE_JITTER_MS;
    this.#probing = setTimeout(() => void this.#probe(), waitMs);
    this.#probing.unref();
  }

  async #probe(): Promise<void> {
    try {
      await this.#options.probe();
    } catch (error) {
      this.#options.onStillOpen?.(error);
      this.#failedProbes++;
      if (this.#failedProbes % PROBES_BEFORE_SILENCE === 0) this.#options.onSilence?.();
      this.#probeSoon();
      return;
    }
    this.#timeouts = 0;
    this.#failedProbes = 0;
    this.#isOpen = false;
    this.#options.onClose?.();
  }
}
