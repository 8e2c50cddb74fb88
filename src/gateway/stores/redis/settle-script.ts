/** The script that settles, lua/settle.lua, and its arguments and replies. */
import { hash } from 'node:crypto';
import type {
  SettledPart,
  SettledState,
  Settlement,
  SettleResult,
} from '../../core/counting/settlement.ts';
import { StoreError } from '../../core/counting/store.ts';
import { readLuaScript } from './lua-script.ts';
import { type Clocks, numbersOf, ScriptRows, unreadable } from './script-rows.ts';

export const SETTLE_SCRIPT = readLuaScript('settle');
export const SETTLE_SCRIPT_SHA = hash('sha1', SETTLE_SCRIPT, 'hex');

export class SettleArguments extends ScriptRows {
  #numbers = '';

  /** Throws a StoreError if the call would have too many rows, or a number is not a whole one. */
  add({ id, endsMs, parts }: Settlement): void {
    const [first] = parts;
    if (first === undefined) return;
    this.push(markOf(first.key, id), undefined, false);
    this.#addNumber(endsMs);
    for (const [i, { key, quota, momentMs, reserved, used }] of parts.entries()) {
      this.push(key, this.rowOf(quota, 0, ''), i === parts.length - 1);
      for (const number of [momentMs, reserved, used]) this.#addNumber(number);
    }
  }

  override values(clocks: Clocks): (string | number)[] {
    return super.values(clocks, `[${this.#numbers.slice(1)}]`);
  }

  #addNumber(number: number): void {
    if (!Number.isSafeInteger(number) || number < 0) {
      throw new StoreError('other', `a settlement has ${number} in place of a whole number`);
    }
    this.#numbers += `,${number}`;
  }
}

/** The mark lies in the slot of the key. */
function markOf(key: string, id: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:settled:${id}`;
}

/** By the numbers that the script returns for parts that changed nothing. */
const STATES: ReadonlyMap<number, SettledState> = new Map([
  [-1, 'gone'],
  [-2, 'reset'],
  [-3, 'repeated'],
  [-4, 'ended'],
]);

/** Throws a StoreError (`malformed`) if this is not the script's reply to these settlements. */
export function settleResultsOf(
  settlements: readonly Settlement[],
  reply: unknown,
  call: number,
): SettleResult[] {
  const numbers = numbersOf(reply, call);
  let next = 2;
  const results = settlements.map(({ parts }) => ({
    parts: parts.map((part) => settledPart(part, numbers[next++])),
  }));
  if (next !== numbers.length) throw unreadable();
  return results;
}

function settledPart({ reserved, used }: SettledPart, number: number | undefined) {
  if (number === undefined || number > Math.max(0, used - reserved)) throw unreadable();
  if (number >= 0) return { state: 'settled' as const, cut: number };
  const state = STATES.get(number);
  if (state === undefined) throw unreadable();
  return { state, cut: 0 };
}
