/** lua/take.lua and the wire form of its arguments and reply. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Descriptor, type QuotaState, StoreError, type TakeResult } from '../../core/store.ts';

export const TAKE_SCRIPT = readFileSync(new URL('../../../lua/take.lua', import.meta.url), 'utf8');
export const TAKE_SCRIPT_SHA = hash('sha1', TAKE_SCRIPT, 'hex');

const READ_SERVER_CLOCK = -1;

export interface TakeArguments {
  readonly keys: string[];
  readonly values: number[];
}

/** `nowMs` replaces the server's clock. */
export function encodeTakes(
  takes: readonly (readonly Descriptor[])[],
  nowMs = READ_SERVER_CLOCK,
): TakeArguments {
  const keys: string[] = [];
  const values: number[] = [nowMs];
  for (const descriptors of takes) {
    values.push(descriptors.length);
    for (const { key, limit, windowMs, cost } of descriptors) {
      keys.push(key);
      values.push(limit, windowMs, cost);
    }
  }
  return { keys, values };
}

/** Reads the reply front to back, one request at a time. */
export class TakeReply {
  readonly #numbers: readonly number[];
  readonly #nowMs: number;
  #next = 1;

  /** Throws a StoreError when this is no reply of the script to so many descriptors of so many requests. */
  constructor(reply: unknown, requests: number, descriptors: number) {
    const length = 1 + requests + 3 * descriptors;
    if (!Array.isArray(reply) || reply.length !== length || !reply.every(Number.isSafeInteger)) {
      throw new StoreError('protocol', 'Redis answered what the script cannot have returned');
    }
    this.#numbers = reply;
    this.#nowMs = reply[0];
  }

  read(descriptors: readonly Descriptor[]): TakeResult {
    const admitted = this.#number() === 1;
    const states: QuotaState[] = [];
    for (const { limit } of descriptors) {
      const remaining = this.#number();
      const resetAfterMs = this.#number();
      const retryAfterMs = this.#number();
      states.push({ limit, remaining, resetAfterMs, retryAfterMs });
    }
    return { admitted, states, nowMs: this.#nowMs };
  }

  #number(): number {
    return this.#numbers[this.#next++] ?? Number.NaN;
  }
}
