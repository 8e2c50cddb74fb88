/** The script in lua/ and the wire form of its arguments and reply. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  type Descriptor,
  type Quota,
  type QuotaState,
  SHORT_NAMES,
  StoreError,
  type TakeResult,
} from '../../core/store.ts';

const PARTS = [
  'clock',
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'take',
] as const;

export const TAKE_SCRIPT = PARTS.map((part) =>
  readFileSync(new URL(`../../../lua/${part}.lua`, import.meta.url), 'utf8'),
).join('\n');
export const TAKE_SCRIPT_SHA = hash('sha1', TAKE_SCRIPT, 'hex');

const READ_SERVER_CLOCK = -1;

/** Two bytes name a row: 64 times 32 of them, with one bit left for the last of a request. */
const MAX_ROWS = 2_048;

/**
 * The arguments of one script call. What requests are counted by repeats from request to request, so it is sent once:
 * each descriptor is its key and two bytes that name a row.
 */
export class TakeArguments {
  readonly keys: string[] = [];
  readonly #rows: { readonly quota: Quota; readonly cost: number }[] = [];
  #plan = '';

  /** Throws a StoreError for more different quotas than one call can tell apart. */
  add(descriptors: readonly Descriptor[]): void {
    const last = descriptors.length - 1;
    for (const [i, descriptor] of descriptors.entries()) {
      const row = this.#rowOf(descriptor);
      this.keys.push(descriptor.key);
      this.#plan += String.fromCharCode(32 + (row & 63), 32 + (row >> 6) + (i === last ? 64 : 0));
    }
  }

  /** `nowMs` replaces the server's clock. */
  values(nowMs = READ_SERVER_CLOCK): (string | number)[] {
    const values: (string | number)[] = [nowMs, this.#plan];
    for (const { quota, cost } of this.#rows) {
      const { algorithm, limit, windowMs, burst, countRejected } = quota;
      values.push(SHORT_NAMES[algorithm], limit, windowMs, burst, cost, countRejected ? 1 : 0);
    }
    return values;
  }

  #rowOf({ quota, cost }: Descriptor): number {
    const rows = this.#rows;
    for (let row = 0; row < rows.length; row++) {
      if (rows[row]?.quota === quota && rows[row]?.cost === cost) return row;
    }
    if (rows.length === MAX_ROWS) {
      throw new StoreError('other', `a script call takes ${MAX_ROWS} different quotas at most`);
    }
    return rows.push({ quota, cost }) - 1;
  }
}

/** Reads the reply front to back, one request at a time. */
export class TakeReply {
  readonly #numbers: readonly number[];
  readonly #nowMs: number;
  #next = 1;

  /** Throws a StoreError when this is no reply of the script. */
  constructor(reply: unknown) {
    if (!Array.isArray(reply) || !reply.every(Number.isSafeInteger)) throw unreadable();
    this.#numbers = reply;
    this.#nowMs = reply[0];
  }

  /** Throws a StoreError when the reply is too short for these descriptors. */
  read(descriptors: readonly Descriptor[]): TakeResult {
    let admitted = true;
    const states: QuotaState[] = [];
    for (const { quota, cost } of descriptors) {
      let remaining = this.#number();
      if (remaining < 0) {
        admitted = false;
        remaining = -1 - remaining;
      }
      const resetAfterMs = this.#number();
      const retryAfterMs = remaining < cost ? this.#number() : 0;
      states.push({ limit: quota.burst, remaining, resetAfterMs, retryAfterMs });
    }
    return { admitted, states, nowMs: this.#nowMs };
  }

  #number(): number {
    const number = this.#numbers[this.#next++];
    if (number === undefined) throw unreadable();
    return number;
  }
}

function unreadable(): StoreError {
  return new StoreError('malformed', 'Redis answered what the script cannot have returned');
}
