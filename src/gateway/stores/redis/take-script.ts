/** The scripts that count, lua/take.lua and lua/peek.lua, and their arguments and replies. */
import { hash } from 'node:crypto';
import {
  type Descriptor,
  isCharge,
  MAX_LIMIT,
  type PeekResult,
  type Quota,
  type QuotaState,
  SHORT_NAMES,
  StoreError,
  type TakeResult,
} from '../../core/counting/store.ts';
import { readLuaScript } from './lua-script.ts';

export const TAKE_SCRIPT = readLuaScript('take');
export const TAKE_SCRIPT_SHA = hash('sha1', TAKE_SCRIPT, 'hex');
/** Takes the same arguments, and replies as if the requests were denied. */
export const PEEK_SCRIPT = readLuaScript('peek');

const READ_SERVER_CLOCK = -1;

/** Two bytes name a row: 64 x 32 rows, and one bit marks the last descriptor of a request. */
const MAX_ROWS = 2_048;

interface Row extends Pick<Descriptor, 'quota' | 'cost'> {
  readonly inherited: string;
}

/** Called with what a token bucket owed before a take, in units x windowMs. */
export type OnDebt = (descriptor: Descriptor, debt: number) => void;

/** In milliseconds since the epoch. */
export interface Clocks {
  /** The clock of this gateway. It tells which windows of a calendar the script may need. */
  readonly ownMs: number;
  readonly serverMs?: number | undefined;
}

/** A descriptor with the debt that its token bucket has at least, if the previous name is in another slot. In units x windowMs. */
export interface IndebtedDescriptor extends Descriptor {
  readonly leastDebt?: number;
}

/** What the name of an algorithm is followed by, see lua/includes/rows.lua. */
function inheritance(descriptors: readonly IndebtedDescriptor[], index: number): string {
  const { quota, previousKey, leastDebt = 0 } = descriptors[index] as IndebtedDescriptor;
  if (quota.algorithm !== 'token-bucket' && quota.remainder === undefined) return '';
  if (leastDebt > 0) return `+${leastDebt}`;
  const previous =
    previousKey === undefined ? -1 : descriptors.findIndex(({ key }) => key === previousKey);
  return previous === -1 ? '' : String(previous - index);
}

/**
 * Quotas and costs repeat, so each pair is sent once, as a row. A descriptor is its key and two bytes that name its
 * row.
 */
export class TakeArguments {
  static #calls = 0;
  readonly number = ++TakeArguments.#calls;
  readonly keys: string[] = [];
  readonly #rows: Row[] = [];
  #plan = '';

  /** Adds the descriptors of one request. Throws a StoreError if the call would have more than MAX_ROWS rows. */
  add(descriptors: readonly IndebtedDescriptor[]): void {
    const last = descriptors.length - 1;
    for (const [i, descriptor] of descriptors.entries()) {
      const row = this.#rowOf(descriptor, inheritance(descriptors, i));
      this.keys.push(descriptor.key);
      this.#plan += String.fromCharCode(32 + (row & 63), 32 + (row >> 6) + (i === last ? 64 : 0));
    }
  }

  values({ ownMs, serverMs = READ_SERVER_CLOCK }: Clocks): (string | number)[] {
    const values: (string | number)[] = [serverMs, this.number, this.#plan];
    for (const { quota, cost, inherited } of this.#rows) {
      const { algorithm, limit, windowMs, calendar, burst } = quota;
      const window = calendar === undefined ? windowMs : calendar.windowAt(ownMs).bounds.join(' ');
      const name = SHORT_NAMES[algorithm] + inherited;
      values.push(name, limit, window, burst, cost, rejectedTake(quota));
    }
    return values;
  }

  #rowOf({ quota, cost }: Descriptor, inherited: string): number {
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
}

const REMAINDERS = { note: 2, take: 3, taken: 4 } as const;

function rejectedTake({ countRejected, remainder }: Quota): number {
  if (remainder !== undefined) return REMAINDERS[remainder];
  return countRejected ? 1 : 0;
}

/** Checks every number, so that a reply to another call, or one that is not from Redis, never reaches a client. */
export class TakeReply {
  readonly #numbers: readonly number[];
  readonly #nowMs: number;
  #next = 2;

  /** Throws a StoreError (`malformed`) if this is not the script's reply to the call with this number. */
  constructor(reply: unknown, call: number) {
    if (!Array.isArray(reply) || !reply.every(Number.isSafeInteger)) throw unreadable();
    if (reply[0] !== call || !(reply[1] > EARLIEST_MS)) throw unreadable();
    this.#numbers = reply;
    this.#nowMs = reply[1];
  }

  /** The result of the next request. Throws a StoreError if the numbers cannot belong to these descriptors. */
  read(descriptors: readonly Descriptor[], onDebt?: OnDebt): TakeResult {
    const admitted = (this.#numbers[this.#next] ?? -1) >= 0;
    let longestWaitMs = 0;
    const states: QuotaState[] = [];
    for (const descriptor of descriptors) {
      const state = this.#state(descriptor, { admitted, hasTaken: !admitted, onDebt });
      if (state.retryAfterMs > longestWaitMs) longestWaitMs = state.retryAfterMs;
      states.push(state);
    }
    if (!admitted && longestWaitMs === 0) throw unreadable();
    return { admitted, states, nowMs: this.#nowMs };
  }

  peeked(descriptors: readonly Descriptor[]): PeekResult {
    const reading = { admitted: false, hasTaken: false };
    return { states: descriptors.map((each) => this.#state(each, reading)), nowMs: this.#nowMs };
  }

  /** Throws a StoreError if there are more numbers than descriptors need. */
  end(): void {
    if (this.#next !== this.#numbers.length) throw unreadable();
  }

  #state(descriptor: Descriptor, { admitted, hasTaken, onDebt }: Reading): QuotaState {
    const { quota, cost } = descriptor;
    const first = this.#number();
    const remaining = admitted ? first : -1 - first;
    let resetAfterMs = this.#number();
    const debt = resetAfterMs;
    if (quota.algorithm === 'token-bucket') resetAfterMs = Math.ceil(debt / quota.limit);
    const retryAfterMs = remaining < Math.max(cost, 1) ? this.#number() : 0;
    const taken = hasTaken && isCharge(descriptor) ? this.#number() : undefined;
    const longestMs = longestMsOf(quota);
    const mostLeft = admitted ? quota.burst - Math.max(cost, 0) : quota.burst;
    if (!isWithin(remaining, mostLeft)) throw unreadable();
    if (!isWithin(resetAfterMs, longestMs)) throw unreadable();
    if (!isWithin(retryAfterMs, longestMs)) throw unreadable();
    if (taken !== undefined && !isWithin(taken, cost)) throw unreadable();
    if (quota.algorithm === 'token-bucket') {
      const units = admitted ? cost : (taken ?? 0);
      onDebt?.(descriptor, Math.max(0, debt - units * quota.windowMs));
    }
    const state = { limit: quota.burst, remaining, resetAfterMs, retryAfterMs };
    return taken === undefined ? state : { ...state, taken };
  }

  #number(): number {
    const number = this.#numbers[this.#next++];
    if (number === undefined) throw unreadable();
    return number;
  }
}

interface Reading {
  readonly admitted: boolean;
  readonly hasTaken: boolean;
  readonly onDebt?: OnDebt | undefined;
}

/** No server's clock is earlier. */
const EARLIEST_MS = Date.UTC(2020);

function isWithin(value: number, most: number): boolean {
  return value >= 0 && value <= most;
}

/** Clocks may change by more than they ever did. */
const LONGER_BY_MS = 86_400_000;

/**
 * The debt of a bucket may come from a larger burst before the policy changed. Costs above the burst wait one unit
 * more.
 */
function longestMsOf({ algorithm, windowMs, calendar, limit }: Quota): number {
  if (calendar !== undefined) return windowMs + LONGER_BY_MS;
  if (algorithm === 'token-bucket') return Math.ceil(((MAX_LIMIT + 1) * windowMs) / limit);
  return algorithm === 'sliding-window-counter' ? 2 * windowMs : windowMs;
}

function unreadable(): StoreError {
  return new StoreError('malformed', 'Redis sent a reply that the script cannot have returned');
}
