/**
 * A circuit breaker. When a store is too slow, requests no longer wait for it until a probe is answered in time.
 *
 * A store that fails at once makes no request wait, so it is called every time and works again as soon as it recovers.
 */
import { StoreError, type StoreErrorReason } from '../core/counting/store.ts';
import type { Gate } from './guarded-store.ts';

export interface BreakerOptions {
  /** Resolves if the store answers in time. No client waits for it. */
  readonly probe: () => Promise<unknown>;
  /** Several probes in a row failed: the connection itself may be broken. */
  readonly onSilence?: () => void;
  readonly onOpen?: () => void;
  /** Called after every failed probe. */
  readonly onStillOpen?: (error: unknown) => void;
  readonly onClose?: () => void;
}

/** A single late answer may be chance. */
const TIMEOUTS_IN_A_ROW = 5;
const PROBES_BEFORE_SILENCE = 4;
const PROBE_EVERY_MS = 100;
/** Gateways that opened their breakers together should not probe together. */
const PROBE_JITTER_MS = 50;

/** Created once: creating an error with its stack costs more than taking a request. */
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

  /** Call once per round trip, however many requests shared it. */
  succeeded(): void {
    this.#timeouts = 0;
  }

  /** Call once per round trip, however many requests shared it. */
  failed(reason: StoreErrorReason): void {
    if (reason !== 'timeout' || this.#isOpen) return;
    this.#timeouts++;
    if (this.#timeouts < TIMEOUTS_IN_A_ROW) return;
    this.#isOpen = true;
    this.#options.onOpen?.();
    this.#probeSoon();
  }

  /** Stops probing. */
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
