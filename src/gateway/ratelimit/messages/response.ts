/** Of envoy/service/ratelimit/v3/rls.proto, envoy/config/core/v3/base.proto and google/protobuf/{duration,struct}.proto. */
import { messageField, numberField, textField } from '../../protobuf/writer.ts';
import type { DescriptorStatus, RateLimitAnswer, StatusLimit } from '../call.ts';
import { NUMBERED_UNITS } from './units.ts';

const OK = 1;
const OVER_LIMIT = 2;

/** The bytes of the message, one per character. */
export function writeResponse(answer: RateLimitAnswer): string {
  let message = codeField(answer.isOverLimit);
  for (const status of answer.statuses) message += messageField(2, statusMessage(status));
  for (let i = 0; i < answer.headers.length; i += 2) {
    const [name = '', value = ''] = answer.headers.slice(i, i + 2);
    message += messageField(3, textField(1, name) + textField(2, value));
  }
  if (answer.body !== '') message += textField(5, answer.body);
  if (answer.metadata !== undefined) message += messageField(6, struct(answer.metadata));
  return message;
}

function codeField(isOverLimit: boolean): string {
  return numberField(1, isOverLimit ? OVER_LIMIT : OK);
}

function statusMessage({ isOverLimit, limit, remaining, resetAfter }: DescriptorStatus): string {
  let message = codeField(isOverLimit);
  if (limit !== undefined) message += messageField(2, limitMessage(limit));
  if (remaining > 0) message += numberField(3, remaining);
  // A Duration is its seconds and its nanoseconds.
  if (limit !== undefined) message += messageField(4, naturalField(1, resetAfter));
  return message;
}

function limitMessage({ requestsPerUnit, unit, unitMultiplier, name }: StatusLimit): string {
  let message = naturalField(1, requestsPerUnit) + numberField(2, NUMBERED_UNITS.indexOf(unit));
  if (name !== undefined) message += textField(3, name);
  // A UInt32Value.
  if (unitMultiplier !== undefined) message += messageField(4, numberField(1, unitMultiplier));
  return message;
}

/** Protobuf leaves out a number that is 0. */
function naturalField(field: number, value: number): string {
  return value === 0 ? '' : numberField(field, value);
}

function struct(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) =>
      messageField(1, textField(1, name) + messageField(2, structValue(value))),
    )
    .join('');
}

function structValue(value: unknown): string {
  if (typeof value === 'string') return textField(3, value);
  if (typeof value === 'boolean') return numberField(4, Number(value));
  if (typeof value === 'number') return doubleField(2, value);
  if (Array.isArray(value)) {
    return messageField(6, value.map((each) => messageField(1, structValue(each))).join(''));
  }
  if (value === null || value === undefined) return numberField(1, 0);
  return messageField(5, struct(value as Readonly<Record<string, unknown>>));
}

const FIXED_64 = 1;

function doubleField(field: number, value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return String.fromCharCode(field * 8 + FIXED_64) + bytes.toString('latin1');
}
