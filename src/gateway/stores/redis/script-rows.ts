/** What calls of the scripts that count have in common: rows of quotas, the number of the call, and the check of replies. */
import { type Quota, SHORT_NAMES, StoreError } from '../../core/counting/store.ts';

const READ_SERVER_CLOCK = -1;

/** Two bytes name a row: 64 x 32 rows, and one bit marks the last descriptor of a request. */
const MAX_ROWS = 2_048;

/** In milliseconds since the epoch. */
export interface Clocks {
  /** The clock of this gateway. It tells which windows of a calendar the script may need. */
  readonly ownMs: number;
  readonly serverMs?: number | undefined;
}

interface Row {
  readonly quota: Quota;
  readonly cost: number;
  readonly inherited: string;
}

/**
 * The arguments of one call. Quotas and costs repeat, so each pair is sent once, as a row. A key has two bytes that name its
 * row.
 */
export class ScriptRows {
  static #calls = 0;
  readonly number = ++ScriptRows.#calls;
  readonly keys: string[] = [];
  readonly #rows: Row[] = [];
  #plan = '';

  /** Throws a StoreError if the call would have more than MAX_ROWS rows. */
  protected rowOf(quota: Quota, cost: number, inherited: string): number {
    const rows = this.#rows;
    for (let row = 0; row < rows.length; row++) {
      const known = rows[row];
      if (known?.quota === quota && known.cost === cost && known.inherited === inherited)
        return row;
    }
    if (rows.length === MAX_ROWS) {
      throw new StoreError('other', `a script call has at most ${MAX_ROWS} different quotas`);
    }
    return rows.push({ quota, cost, inherited }) - 1;
  }

  /** Adds a key. `row` is what `rowOf` returned, or undefined for a key without a row. */
  protected push(key: string, row: number | undefined, isLast: boolean): void {
    this.keys.push(key);
    if (row === undefined) this.#plan += '  ';
    else this.#plan += String.fromCharCode(32 + (row & 63), 32 + (row >> 6) + (isLast ? 64 : 0));
  }

  /** `more` follows the bytes of the keys, see lua/settle.lua. */
  values({ ownMs, serverMs = READ_SERVER_CLOCK }: Clocks, more = ''): (string | number)[] {
    const values: (string | number)[] = [serverMs, this.number, this.#plan + more];
    for (const { quota, cost, inherited } of this.#rows) {
      const { algorithm, limit, windowMs, calendar, burst } = quota;
      const window = calendar === undefined ? windowMs : calendar.windowAt(ownMs).bounds.join(' ');
      const name = SHORT_NAMES[algorithm] + inherited;
      values.push(name, limit, window, burst, cost, rejectedTake(quota));
    }
    return values;
  }
}

const REMAINDERS = { note: 2, take: 3, taken: 4 } as const;

function rejectedTake({ countRejected, remainder }: Quota): number {
  if (remainder !== undefined) return REMAINDERS[remainder];
  return countRejected ? 1 : 0;
}

/** No server's clock is earlier. */
const EARLIEST_MS = Date.UTC(2020);

/**
 * Checks that a reply is that of the script to the call with this number: whole numbers, of which the second is the
 * moment. Throws a StoreError (`malformed`).
 */
export function numbersOf(reply: unknown, call: number): readonly number[] {
  if (!Array.isArray(reply) || !reply.every(Number.isSafeInteger)) throw unreadable();
  if (reply[0] !== call || !(reply[1] > EARLIEST_MS)) throw unreadable();
  return reply;
}

export function unreadable(): StoreError {
  return new StoreError('malformed', 'Redis sent a reply that the script cannot have returned');
}
