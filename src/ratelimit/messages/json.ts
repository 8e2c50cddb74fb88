/**
 * Reads `RateLimitRequest` and writes `RateLimitResponse` as JSON (protobuf.dev/programming-guides/json): names in camel
 * case or as in the .proto file, 64-bit numbers as texts, enums by name or number. Unknown fields are refused.
 */
import { z } from 'zod';
import type { DescriptorStatus, RateLimitAnswer, RateLimitCall } from '../call.ts';
import { OVERRIDE_UNITS } from './units.ts';

const whole = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]);
const uint32 = whole.pipe(z.int().min(0).max(4_294_967_295));
const uint64 = whole.pipe(z.number().min(0).refine(Number.isInteger));

const UNIT_NAMES = new Map(
  [...OVERRIDE_UNITS].map(([number, unit]) => [unit.toUpperCase(), number]),
);
const unit = z.union([
  z.int(),
  z
    .string()
    .refine((name) => name === 'UNKNOWN' || UNIT_NAMES.has(name))
    .transform((name) => UNIT_NAMES.get(name) ?? 0),
]);

const limit = z.strictObject({
  requestsPerUnit: uint32.nullish().transform((value) => value ?? 0),
  unit: unit.nullish().transform((value) => value ?? 0),
});

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');

const descriptor = z.strictObject({
  entries: z
    .array(z.strictObject({ key: text, value: text }))
    .nullish()
    .transform((value) => value ?? []),
  limit: limit.nullish().transform((value) => value ?? undefined),
  hitsAddend: uint64.nullish().transform((value) => value ?? undefined),
  isNegativeHits: z
    .boolean()
    .nullish()
    .transform((value) => value ?? false),
});

const call = z.strictObject({
  domain: text,
  descriptors: z
    .array(descriptor)
    .nullish()
    .transform((value) => value ?? []),
  hitsAddend: uint32.nullish().transform((value) => value ?? 0),
});

/** Undefined if the text is not a request. */
export function readJsonCall(written: string): RateLimitCall | undefined {
  try {
    return call.safeParse(JSON.parse(written, camelCased)).data;
  } catch {
    return undefined;
  }
}

/** `JSON.parse` calls it with each value, the innermost first. */
function camelCased(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
      each,
    ]),
  );
}

export function writeJsonAnswer(answer: RateLimitAnswer): string {
  const headers: { key: string | undefined; value: string | undefined }[] = [];
  for (let i = 0; i < answer.headers.length; i += 2) {
    headers.push({ key: answer.headers[i], value: answer.headers[i + 1] });
  }
  return JSON.stringify({
    overallCode: codeName(answer.isOver),
    statuses: answer.statuses.map(jsonStatus),
    ...(headers.length > 0 && { responseHeadersToAdd: headers }),
    ...(answer.body !== '' && { rawBody: Buffer.from(answer.body).toString('base64') }),
    ...(answer.metadata !== undefined && { dynamicMetadata: answer.metadata }),
  });
}

function codeName(isOver: boolean): string {
  return isOver ? 'OVER_LIMIT' : 'OK';
}

/** Fields that are 0 are left out. */
function jsonStatus({ isOver, limit: applied, remaining, resetAfter }: DescriptorStatus): object {
  return {
    code: codeName(isOver),
    ...(applied !== undefined && {
      currentLimit: {
        ...(applied.requestsPerUnit > 0 && { requestsPerUnit: applied.requestsPerUnit }),
        unit: applied.unit.toUpperCase(),
        ...(applied.name !== undefined && { name: applied.name }),
      },
    }),
    ...(remaining > 0 && { limitRemaining: remaining }),
    ...(applied !== undefined && { durationUntilReset: `${resetAfter}s` }),
  };
}
