/** The scripts that count, lua/take.lua and lua/peek.lua, and their arguments and replies. */
import { hash } from 'node:crypto';
import { MAX_SETTLED } from '../../core/counting/settlement.ts';
import {
  type Descriptor,
  isCharge,
  MAX_LIMIT,
  type PeekResult,
  type QuotaState,
  type TakeResult,
} from '../../core/counting/store.ts';
import { readLuaScript } from './lua-script.ts';
import { numbersOf, ScriptRows, unreadable } from './script-rows.ts';

export const TAKE_SCRIPT = readLuaScript('take');
export const TAKE_SCRIPT_SHA = hash('sha1', TAKE_SCRIPT, 'hex');
/** Takes the same arguments, and replies as if the requests were denied. */
export const PEEK_SCRIPT = readLuaScript('peek');

/** Called with what a token bucket owed before a take, in units x windowMs. */
export type OnDebt = (descriptor: Descriptor, debt: number) => void;

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

export class TakeArguments extends ScriptRows {
  /** Adds the descriptors of one request. Throws a StoreError if the call would have too many rows. */
  add(descriptors: readonly IndebtedDescriptor[]): void {
    const last = descriptors.length - 1;
    for (const [i, { key, quota, cost }] of descriptors.entries()) {
      this.push(key, this.rowOf(quota, cost, inheritance(descriptors, i)), i === last);
    }
  }
}

/** Checks every number, so that a reply to another call, or one that is not from Redis, never reaches a client. */
export class TakeReply {
  readonly #numbers: readonly number[];
  readonly #nowMs: number;
  #next = 2;

  /** Throws a StoreError (`malformed`) if this is not the script's reply to the call with this number. */
  constructor(reply: unknown, call: number) {
    this.#numbers = numbersOf(reply, call);
    this.#nowMs = this.#numbers[1] as number;
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
    const longestMs = longestMsOf(descriptor);
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

function isWithin(value: number, most: number): boolean {
  return value >= 0 && value <= most;
}

/** Clocks may change by more than they ever did. */
const LONGER_BY_MS = 86_400_000;

/**
 * The debt of a bucket may come from a larger burst before the policy changed, or from settlements. Costs above the burst
 * wait one unit more. Only buckets with a unit hold more than MAX_LIMIT.
 */
function longestMsOf({ quota, givesBack }: Descriptor): number {
  const { algorithm, windowMs, calendar, limit, burst } = quota;
  if (calendar !== undefined) return windowMs + LONGER_BY_MS;
  if (algorithm === 'token-bucket') {
    const longestMs = Math.ceil(((Math.max(MAX_LIMIT, burst) + 1) * windowMs) / limit);
    return givesBack ? longestMs + Math.ceil(MAX_SETTLED / limit) : longestMs;
  }
  return algorithm === 'sliding-window-counter' ? 2 * windowMs : windowMs;
}
