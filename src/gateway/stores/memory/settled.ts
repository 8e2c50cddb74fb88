/** What settlements leave in this process: which were settled, and when counters were reset. It is the model for lua/settle.lua. */
import {
  MAX_SETTLE_WITHIN_MS,
  type SettledPart,
  type SettledState,
  type Settlement,
} from '../../core/counting/settlement.ts';
import { StoreError } from '../../core/counting/store.ts';
import { type Kept, MeterTable } from './meter.ts';

interface ResetMark extends Kept {
  readonly atMs: number;
}

export class Settled {
  readonly #maxKeys: number;
  readonly #marks: MeterTable<Kept>;
  readonly #resets: MeterTable<ResetMark>;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
    this.#marks = new MeterTable(maxKeys);
    this.#resets = new MeterTable(maxKeys);
  }

  noteReset(key: string, nowMs: number): void {
    this.#resets.add(key, { used: false, atMs: nowMs, expiresMs: nowMs + MAX_SETTLE_WITHIN_MS });
    this.#resets.evict(1, nowMs);
  }

  isReset({ key, momentMs }: SettledPart, nowMs: number): boolean {
    const reset = this.#resets.get(key);
    return reset !== undefined && nowMs < reset.expiresMs && momentMs <= reset.atMs;
  }

  /**
   * Marks a settlement, or returns why it must not change anything. Throws a StoreError (`overloaded`) if there are too many
   * marks: without its mark, a settlement could be repeated.
   */
  begin({ id, endsMs }: Settlement, nowMs: number): SettledState | undefined {
    if (endsMs <= nowMs) return 'ended';
    const mark = this.#marks.get(id);
    if (mark !== undefined && nowMs < mark.expiresMs) return 'repeated';
    if (mark === undefined && this.#marks.size >= this.#maxKeys) {
      this.#marks.evict(1, nowMs);
      if (this.#marks.size >= this.#maxKeys)
        throw new StoreError('overloaded', `${this.#maxKeys} settlements are remembered already`);
    }
    this.#marks.add(id, { used: false, expiresMs: endsMs });
    this.#marks.evict(1, nowMs);
    return undefined;
  }
}

/** The units of a surplus that count: the limit at most, and no more than there is `space` for. */
export function surplusUnits(limit: number, units: number, space: number): number {
  return Math.max(0, Math.min(units, limit, Math.floor(space)));
}
