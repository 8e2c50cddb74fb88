/** Calls a store only if all gates are open. Otherwise the request follows the failure mode of its policy at once. */
import type { SettlementStore } from '../core/counting/settlement.ts';
import { type QuotaStore, StoreError, type StoreErrorReason } from '../core/counting/store.ts';

export interface Gate {
  /** Undefined if the store may be called. Called for every request. */
  obstacle(): StoreError | undefined;
}

/** Settlements wait for what `settling` names only. */
export function guardedStore(
  store: QuotaStore & SettlementStore,
  gates: readonly Gate[],
  settling: readonly Gate[] = gates,
): QuotaStore & SettlementStore {
  return {
    take: (descriptors) => closed(gates) ?? store.take(descriptors),
    settle: (settlement) => closed(settling) ?? store.settle(settlement),
    reset: (keys, settled) => store.reset(keys, settled),
  };
}

/** Undefined if all gates are open. */
function closed(gates: readonly Gate[]): Promise<never> | undefined {
  for (const gate of gates) {
    const obstacle = gate.obstacle();
    if (obstacle !== undefined) return Promise.reject(obstacle);
  }
  return undefined;
}

interface BreakerOptions {
  /** Resolves if the store answers in time. No client waits for it. */
  readonly probe: () => Promise<unknown>;
  /** Several probes in a row failed: the connection itself may be broken. */
  readonly onSilence?: () => void;
  readonly onOpen?: () => void;
  readonly onStillOpen?: (error: unknown) => void;
  readonly onClose?: () => void;
}

/** A single late answer may be chance. */
const TIMEOUTS_IN_A_ROW = 5;
const PROBES_BEFORE_SILENCE = 4;
const PROBE_EVERY_MS = 100;
/** Gateways that opened their breakers together should not probe together. */
const PROBE_JITTER_MS = 50;

// The errors of gates are created once: creating one with its stack costs more than taking a request.
const GIVEN_UP = new StoreError('given_up', 'the store is too slow');

/**
 * A circuit breaker. When a store is too slow, requests no longer wait for it until a probe is answered in time. A store
 * that fails at once makes no request wait, so it is called every time and works again as soon as it recovers.
 */
export function createBreaker(options: BreakerOptions) {
  let timeouts = 0;
  let isOpen = false;
  let failedProbes = 0;
  let probing: NodeJS.Timeout | undefined;
  const probeSoon = () => {
    const waitMs = PROBE_EVERY_MS + Math.random() * PROBE_JITTER_MS;
    probing = setTimeout(() => void probe(), waitMs).unref();
  };
  const probe = async () => {
    try {
      await options.probe();
    } catch (error) {
      options.onStillOpen?.(error);
      failedProbes++;
      if (failedProbes % PROBES_BEFORE_SILENCE === 0) options.onSilence?.();
      probeSoon();
      return;
    }
    timeouts = 0;
    failedProbes = 0;
    isOpen = false;
    options.onClose?.();
  };
  return {
    obstacle: (): StoreError | undefined => (isOpen ? GIVEN_UP : undefined),
    /** Call once per round trip, however many requests shared it. */
    succeeded(): void {
      timeouts = 0;
    },
    /** Call once per round trip, however many requests shared it. */
    failed(reason: StoreErrorReason): void {
      if (reason !== 'timeout' || isOpen) return;
      timeouts++;
      if (timeouts < TIMEOUTS_IN_A_ROW) return;
      isOpen = true;
      options.onOpen?.();
      probeSoon();
    },
    close: (): void => clearTimeout(probing),
  };
}

interface OverloadOptions {
  readonly now: () => number;
  readonly limitMs: number;
  readonly onShed?: () => void;
}

const CHECK_EVERY_MS = 10;
/** A single late timer may be a pause of the garbage collector. */
const LATE_IN_A_ROW = 3;

/** An idle process that wakes up a hundred times a second would cost its machine more than the gate is worth. */
const CHECKS_WITHOUT_REQUESTS = 100;

const OVERLOADED = new StoreError('overloaded', 'event loop overloaded');

/**
 * Sheds load: while the event loop is overloaded, requests follow the failure modes of their policies at once. Without
 * requests the watch ends within a second, and the next request starts it anew.
 */
export function watchOverload({ now, limitMs, onShed }: OverloadOptions) {
  let dueMs = 0;
  let lateInARow = 0;
  let checksLeft = 0;
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    lateInARow = 0;
  };
  // A timer is as late as everything else that waits for the event loop.
  const check = () => {
    const nowMs = now();
    lateInARow = nowMs - dueMs > limitMs ? lateInARow + 1 : 0;
    dueMs = nowMs + CHECK_EVERY_MS;
    checksLeft--;
    if (checksLeft === 0) stop();
  };
  const watch = () => {
    checksLeft = CHECKS_WITHOUT_REQUESTS;
    if (timer !== undefined) return;
    dueMs = now() + CHECK_EVERY_MS;
    timer = setInterval(check, CHECK_EVERY_MS).unref();
  };
  watch();
  return {
    obstacle(): StoreError | undefined {
      watch();
      if (lateInARow < LATE_IN_A_ROW) return undefined;
      onShed?.();
      return OVERLOADED;
    },
    close: stop,
  };
}
