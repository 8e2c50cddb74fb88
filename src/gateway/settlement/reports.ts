/** Reads the body of `POST /settle`: one report of an outcome, or a batch of them. */
import { z } from 'zod';
import type { Outcome } from '../core/counting/outcome.ts';
import { isRecord } from '../core/is-record.ts';

export interface Report {
  readonly token: string;
  readonly outcome: Outcome;
}

export interface Reports {
  /** The body was `{"settlements": [...]}`, and the answer has this form, too. */
  readonly isBatch: boolean;
  readonly reports: readonly Report[];
}

export const MAX_BATCH = 100;
const LONGEST_SHOWN = 40;

/** The body is not what it must be. The message names the place, and says what to send. */
export class MalformedReport extends Error {
  override readonly name = 'MalformedReport';
}

const TOKEN = 'must be the text of X-Headgate-Settle';
const BATCH = `must be a list of 1 to ${MAX_BATCH} objects`;

function whole(least: number, most: number) {
  const isWhole = (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
  return z.custom<number>(isWhole, `must be a whole number from ${least} to ${most}`);
}

function upTo<Value>(most: number, name: z.ZodString, value: z.ZodType<Value>) {
  const expected = `must be an object with at most ${most} names`;
  return z
    .record(name, value, expected)
    .refine((found) => Object.keys(found).length <= most, expected)
    .transform((found) => new Map(Object.entries(found)))
    .optional();
}

const report = z
  .strictObject(
    {
      token: z.string(TOKEN).min(1, TOKEN),
      status: whole(100, 599).optional(),
      headers: upTo(64, z.string().toLowerCase(), z.string('must be a text')),
      units: upTo(16, z.string(), whole(0, Number.MAX_SAFE_INTEGER)),
    },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? 'is unknown, the names are token, status, headers and units'
          : 'must be an object',
    },
  )
  .transform(({ token, ...outcome }): Report => ({ token, outcome }));

const batch = z.strictObject(
  { settlements: z.array(report, BATCH).min(1, BATCH).max(MAX_BATCH, BATCH) },
  'nothing can stand beside settlements',
);

/** Throws a MalformedReport. */
export function readReports(written: string): Reports {
  const value = parsed(written);
  if (!isRecord(value)) throw new MalformedReport('the body must be a JSON object');
  return Object.hasOwn(value, 'settlements')
    ? { isBatch: true, reports: checked(batch, value).settlements }
    : { isBatch: false, reports: [checked(report, value)] };
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    throw new MalformedReport('the body is not JSON');
  }
}

function checked<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data as Value;
  const [issue] = error.issues as [z.core.$ZodIssue];
  const names = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  throw new MalformedReport(`${placeOf([...issue.path, ...names])}: ${issue.message}`);
}

/** `settlements[1].status`. It is short, so that an answer does not repeat a long body. */
function placeOf(path: readonly PropertyKey[]): string {
  const parts = path.map((name) =>
    typeof name === 'number' ? `[${name}]` : `.${String(name).slice(0, LONGEST_SHOWN)}`,
  );
  return parts.join('').replace(/^\./, '');
}
