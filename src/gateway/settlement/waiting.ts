/** Settlements that the store did not take, because it failed. They count once, so trying again is safe. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settlement, SettlementStore, SettleResult } from '../core/counting/settlement.ts';
import { StoreError } from '../core/counting/store.ts';

export interface WaitingOptions {
  readonly store: SettlementStore;
  readonly now: () => number;
  readonly onCount: (waiting: number) => void;
  /** So many were given up: there were too many, they came too late, or the gateway ended. */
  readonly onLost: (settlements: number) => void;
  readonly onFault: (error: unknown) => void;
  /** Milliseconds that the last try may take when the gateway ends. */
  readonly closeWithinMs: number;
}

export interface Waiting {
  /** Later than its end, it is not tried. */
  readonly settlement: Settlement;
  readonly onSettled: (result: SettleResult) => void;
  readonly onLost: () => void;
}

const MOST_WAITING = 10_000;
/** What is sent at the same time when the store works again. */
const AT_ONCE = 64;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 15_000;

export class WaitingSettlements {
  readonly #options: WaitingOptions;
  /** By id; first the one that was tried the longest time ago. */
  readonly #waiting = new Map<string, Waiting>();
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: WaitingOptions) {
    this.#options = options;
  }

  /** False if it is lost, because too many are waiting. A token that waits already has its place. */
  add(waiting: Waiting): boolean {
    const { id } = waiting.settlement;
    if (this.#waiting.has(id)) return true;
    if (this.#isClosed || this.#waiting.size >= MOST_WAITING) {
      this.#options.onLost(1);
      return false;
    }
    this.#waiting.set(id, waiting);
    this.#options.onCount(this.#waiting.size);
    this.#tryLater();
    return true;
  }

  /** Tries all of them once more, and gives up the rest. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const timeout = sleep(this.#options.closeWithinMs, undefined, { ref: false });
    await Promise.race([this.#tryAll(), timeout]);
    this.#lose(this.#waiting.keys());
  }

  #tryLater(): void {
    if (this.#isClosed || this.#waiting.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#retry(), this.#retryMs).unref();
  }

  async #retry(): Promise<void> {
    const isWorking = await this.#tryAll();
    this.#timer = undefined;
    this.#retryMs = isWorking ? FIRST_RETRY_MS : Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
    this.#tryLater();
  }

  /** One first, and while the store takes them, many at once. Resolves to whether it took all. */
  async #tryAll(): Promise<boolean> {
    const nowMs = this.#options.now();
    const settlements = [...this.#waiting.values()].map(({ settlement }) => settlement);
    this.#lose(settlements.filter(({ endsMs }) => endsMs <= nowMs).map(({ id }) => id));
    const all = [...this.#waiting.values()];
    for (let from = 0, count = 1; from < all.length; from += count, count = AT_ONCE) {
      const tried = all.slice(from, from + count).map((each) => this.#try(each));
      if ((await Promise.all(tried)).includes(false)) return false;
    }
    return true;
  }

  /** Resolves to false if the store still fails. */
  async #try(waiting: Waiting): Promise<boolean> {
    const { settlement, onSettled } = waiting;
    const { store, onFault } = this.#options;
    try {
      const result = await store.settle(settlement);
      if (this.#remove(settlement.id)) onSettled(result);
    } catch (error) {
      if (error instanceof StoreError) {
        // It goes to the end, so that one that always fails keeps no other from being tried.
        if (this.#waiting.delete(settlement.id)) this.#waiting.set(settlement.id, waiting);
        return false;
      }
      onFault(error);
      this.#lose([settlement.id]);
    }
    return true;
  }

  #lose(ids: Iterable<string>): void {
    let lost = 0;
    for (const id of ids) {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined || !this.#remove(id)) continue;
      waiting.onLost();
      lost++;
    }
    if (lost > 0) this.#options.onLost(lost);
  }

  #remove(id: string): boolean {
    const isRemoved = this.#waiting.delete(id);
    if (isRemoved) this.#options.onCount(this.#waiting.size);
    return isRemoved;
  }
}
