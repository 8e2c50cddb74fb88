/** The text of a key's record in Redis: JSON, without what is as usual. Fields that a newer version adds are ignored. */
import { copyOf } from '../core/copied-text.ts';
import { listedKeyPartition } from '../core/identity/partition.ts';
import { isRecord } from '../core/is-record.ts';
import { parsedJson } from '../core/parsed-json.ts';
import { WITHOUT_CONTROLS } from '../core/printable.ts';
import type { KeyRecord } from './stored-keys.ts';

/** Characters. The longest text of gateways has 64 characters of id, as many of plan, and 200 of comment, some escaped. */
export const LONGEST_RECORD = 4_096;
/** Reports write years with four digits. */
const LAST_MOMENT = Date.UTC(9999, 11, 31);
const LONGEST_ID = 64;
const LONGEST_PLAN = 64;
const LONGEST_COMMENT = 200;

export function recordText({ id, plan, endsMs, isBlocked, comment, addedMs }: KeyRecord): string {
  return JSON.stringify({
    id,
    plan,
    ...(endsMs !== Number.POSITIVE_INFINITY && { ends: endsMs }),
    ...(isBlocked && { blocked: true }),
    comment,
    added: addedMs,
  });
}

/** Undefined if gateways do not write such a text. */
export function readRecord(digest: string, text: string): KeyRecord | undefined {
  if (text.length > LONGEST_RECORD) return undefined;
  const fields = parsedJson(text);
  if (!isRecord(fields)) return undefined;
  const { id, plan, ends, blocked = false, comment, added } = fields;
  const isReadable =
    isPrintable(id, LONGEST_ID) &&
    id !== '' &&
    (plan === undefined || isPrintable(plan, LONGEST_PLAN)) &&
    (comment === undefined || isPrintable(comment, LONGEST_COMMENT)) &&
    (ends === undefined || isMoment(ends)) &&
    isMoment(added) &&
    typeof blocked === 'boolean';
  if (!isReadable) return undefined;
  return {
    digest,
    ...clientOf(id),
    plan,
    endsMs: ends ?? Number.POSITIVE_INFINITY,
    isBlocked: blocked,
    comment,
    addedMs: added,
  };
}

/** The fields of a record that name the client. */
export function clientOf(id: string): Pick<KeyRecord, 'id' | 'partition'> {
  return { id, partition: copyOf(listedKeyPartition(id)) };
}

function isPrintable(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value.length <= longest && WITHOUT_CONTROLS.test(value);
}

function isMoment(value: unknown): value is number {
  return Number.isInteger(value) && 0 <= (value as number) && (value as number) <= LAST_MOMENT;
}
