/**
 * Stops asking a store that is too slow, so that no request waits for it any more, and asks again once it answers.
 *
 * A store that refuses at once makes nobody wait, and is asked every time: it is back the moment it takes a request.
 */
import { StoreError, type StoreErrorReason } from '../core/store.ts';
import type { Gate } from './guarded-store.ts';

export interface BreakerOptions {
  /** Resolves when the store answers in time, to a question that no client waits for. */
  readonly probe: () => Promise<unknown>;
  /** None of several probes was answered: perhaps it is the way to the store that is broken. */
  readonly onSilence?: () => void;
  readonly onOpen?: () => void;
  /** Told of every probe in vain. */
  readonly onStillOpen?: (error: unknown) => void;
  readonly onClose?: () => void;
}

/** One late answer may be chance. */
const TIMEOUTS_IN_A_ROW = 5;
const PROBES_BEFORE_SILENCE = 4;
const PROBE_EVERY_MS = 100;
/** Gateways that gave up together should not ask together. */
const PROBE_JITTER_MS = 50;

/** One for all: making an error, with its stack, costs more than taking a request. */
const GIVEN_UP = new StoreError('given_up', 'the store is too slow');

export class Breaker implements Gate {
  readonly #options: BreakerOptions;
  #timeouts = 0;
  #isOpen = false;
  #failedProbes = 0;
  #probing: NodeJS.Timeout | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  obstacle(): StoreError | undefined {
    return this.#isOpen ? GIVEN_UP : undefined;
  }

  /** To be told of every round trip, however many requests shared it. */
  succeeded(): void {
    this.#timeouts = 0;
  }

  /** To be told of every round trip, however many requests shared it. */
  failed(reason: StoreErrorReason): void {
    if (reason !== 'timeout' || this.#isOpen) return;
    this.#timeouts++;
    if (this.#timeouts < TIMEOUTS_IN_A_ROW) return;
    this.#isOpen = true;
    this.#options.onOpen?.();
    this.#probeSoon();
  }

  /** Probes no more. */
  close(): void {
    clearTimeout(this.#probing);
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
