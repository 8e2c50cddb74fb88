/** The scripts in lua/ that count, and the wire form of their arguments and replies. */
import { hash } from 'node:crypto';
import {
  type Descriptor,
  MAX_LIMIT,
  type PeekResult,
  type Quota,
  type QuotaState,
  SHORT_NAMES,
  StoreError,
  type TakeResult,
} from '../../core/store.ts';
import { readLuaScript } from './lua-script.ts';

export const TAKE_SCRIPT = readLuaScript('take');
export const TAKE_SCRIPT_SHA = hash('sha1', TAKE_SCRIPT, 'hex');
/** Takes the same arguments, and replies as if the requests were denied. */
export const PEEK_SCRIPT = readLuaScript('peek');

const READ_SERVER_CLOCK = -1;

/** Two bytes name a row: 64 times 32 of them, with one bit left for the last of a request. */
const MAX_ROWS = 2_048;

/**
 * The arguments of one script call. What requests are counted by repeats from request to request, so it is sent once:
 * each descriptor is its key and two bytes that name a row.
 */
export class TakeArguments {
  static #calls = 0;
  /** Of all calls of this process. */
  readonly number = ++TakeArguments.#calls;
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
    const values: (string | number)[] = [nowMs, this.number, this.#plan];
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

/**
 * Reads the reply front to back, one request at a time, and believes nothing that the script cannot have said: what is
 * out of step, or not from a Redis at all, must not become somebody's numbers.
 */
export class TakeReply {
  readonly #numbers: readonly number[];
  readonly #nowMs: number;
  #next = 2;

  /** Throws a StoreError when this is no reply of the script to the call of this number. */
  constructor(reply: unknown, call: number) {
    if (!Array.isArray(reply) || !reply.every(Number.isSafeInteger)) throw unreadable();
    if (reply[0] !== call || !(reply[1] > EARLIEST_MS)) throw unreadable();
    this.#numbers = reply;
    this.#nowMs = reply[1];
  }

  /** Throws a StoreError when it does not answer for these descriptors. */
  read(descriptors: readonly Descriptor[]): TakeResult {
    const admitted = (this.#numbers[this.#next] ?? -1) >= 0;
    let longestWaitMs = 0;
    const states: QuotaState[] = [];
    for (const descriptor of descriptors) {
      const state = this.#state(descriptor, admitted);
      if (state.retryAfterMs > longestWaitMs) longestWaitMs = state.retryAfterMs;
      states.push(state);
    }
    if (!admitted && longestWaitMs === 0) throw unreadable();
    return { admitted, states, nowMs: this.#nowMs };
  }

  /** What nothing was taken from. Throws a StoreError as above. */
  peeked(descriptors: readonly Descriptor[]): PeekResult {
    return { states: descriptors.map((each) => this.#state(each, false)), nowMs: this.#nowMs };
  }

  /** Throws a StoreError when there is more in it than was asked for. */
  end(): void {
    if (this.#next !== this.#numbers.length) throw unreadable();
  }

  #state({ quota, cost }: Descriptor, admitted: boolean): QuotaState {
    const told = this.#number();
    const remaining = admitted ? told : -1 - told;
    const resetAfterMs = this.#number();
    const retryAfterMs = remaining < cost ? this.#number() : 0;
    const longestMs = longestResetMs(quota);
    if (!isWithin(remaining, admitted ? quota.burst - cost : quota.burst)) throw unreadable();
    if (!isWithin(resetAfterMs, longestMs)) throw unreadable();
    if (!isWithin(retryAfterMs, longestMs)) throw unreadable();
    return { limit: quota.burst, remaining, resetAfterMs, retryAfterMs };
  }

  #number(): number {
    const number = this.#numbers[this.#next++];
    if (number === undefined) throw unreadable();
    return number;
  }
}

/** No server's clock says less. */
const EARLIEST_MS = Date.UTC(2020);

function isWithin(value: number, most: number): boolean {
  return value >= 0 && value <= most;
}

/** A bucket may owe what a larger burst has given. */
function longestResetMs({ algorithm, windowMs, limit }: Quota): number {
  if (algorithm === 'token-bucket') return Math.ceil((MAX_LIMIT * windowMs) / limit);
  return algorithm === 'sliding-window-log' ? windowMs : 2 * windowMs;
}

function unreadable(): StoreError {
  return new StoreError('malformed', 'Redis answered what the script cannot have returned');
}
