/**
 * JSON as in protobuf.dev/programming-guides/json: names in camel case or as in the .proto file, 64-bit numbers as texts,
 * enums by name or number. Unknown fields are refused.
 */
import {
  addDescriptor,
  addEntry,
  type CallDescriptor,
  type DescriptorStatus,
  type LimitOverride,
  newCall,
  newOverride,
  type RateLimitAnswer,
  type RateLimitCall,
  RefusedCall,
} from '../call.ts';
import { OVERRIDE_UNITS } from './units.ts';

/** Sets what the value of one field means. Throws a RefusedCall for any other value. */
type ReadField<Target> = (value: unknown, target: Target) => void;
/** By both names of each field. */
type Fields<Target> = ReadonlyMap<string, ReadField<Target>>;

const UNIT_NUMBERS: ReadonlyMap<unknown, number> = new Map(
  OVERRIDE_UNITS.map((name, unit) => [name?.toUpperCase() ?? 'UNKNOWN', unit]),
);

const ENTRY = fields<ReturnType<typeof addEntry>>({
  key: (value, entry) => {
    entry.key = textOf(value);
  },
  value: (value, entry) => {
    entry.value = textOf(value);
  },
});

const LIMIT = fields<LimitOverride>({
  requests_per_unit: (value, limit) => {
    limit.requestsPerUnit = numberOf(value, MAX_UINT32);
  },
  unit: (value, limit) => {
    limit.unit = UNIT_NUMBERS.get(value) ?? numberOf(value, MAX_UINT32);
  },
  unit_multiplier: (value, limit) => {
    limit.unitMultiplier = numberOf(value, MAX_UINT32);
  },
});

const DESCRIPTOR = fields<CallDescriptor>({
  entries: (value, descriptor) => {
    for (const each of listOf(value)) read(each, ENTRY, addEntry(descriptor));
  },
  limit: (value, descriptor) => {
    descriptor.limit = read(value, LIMIT, newOverride());
  },
  hits_addend: (value, descriptor) => {
    descriptor.hitsAddend = numberOf(value, MAX_UINT64);
  },
  is_negative_hits: (value, descriptor) => {
    if (typeof value !== 'boolean') throw notACall();
    descriptor.isNegativeHits = value;
  },
});

const CALL = fields<RateLimitCall>({
  domain: (value, call) => {
    call.domain = textOf(value);
  },
  descriptors: (value, call) => {
    for (const each of listOf(value)) read(each, DESCRIPTOR, addDescriptor(call));
  },
  hits_addend: (value, call) => {
    call.hitsAddend = numberOf(value, MAX_UINT32);
  },
});

const MAX_UINT32 = 2 ** 32 - 1;
const MAX_UINT64 = 2 ** 64;
const DIGITS = /^\d{1,20}$/;

/** Throws a RefusedCall for a text that is no call, or a call with more than Envoy sends. It stops at the first mistake. */
export function readJsonCall(written: string): RateLimitCall {
  return read(parsed(written), CALL, newCall());
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    throw notACall();
  }
}

function read<Target>(value: unknown, readers: Fields<Target>, target: Target): Target {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notACall();
  for (const name in value) {
    const readField = readers.get(name);
    if (readField === undefined) throw notACall();
    const given: unknown = value[name as keyof typeof value];
    // In JSON, null is the default of every field.
    if (given !== null) readField(given, target);
  }
  return target;
}

/** The names are those of the .proto file. */
function fields<Target>(readers: Readonly<Record<string, ReadField<Target>>>): Fields<Target> {
  const camelCased = (name: string) =>
    name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return new Map(
    Object.entries(readers).flatMap(([name, reader]) => [
      [name, reader],
      [camelCased(name), reader],
    ]),
  );
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw notACall();
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw notACall();
  return value;
}

function numberOf(value: unknown, most: number): number {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > most) {
    throw notACall();
  }
  return number;
}

function notACall(): RefusedCall {
  return new RefusedCall('invalid_argument', 'The body is not a RateLimitRequest in JSON.');
}

export function writeJsonAnswer(answer: RateLimitAnswer): string {
  const headers: { key: string | undefined; value: string | undefined }[] = [];
  for (let i = 0; i < answer.headers.length; i += 2) {
    headers.push({ key: answer.headers[i], value: answer.headers[i + 1] });
  }
  return JSON.stringify({
    overallCode: codeName(answer.isOverLimit),
    statuses: answer.statuses.map(jsonStatus),
    ...(headers.length > 0 && { responseHeadersToAdd: headers }),
    ...(answer.body !== '' && { rawBody: Buffer.from(answer.body).toString('base64') }),
    ...(answer.metadata !== undefined && { dynamicMetadata: answer.metadata }),
  });
}

function codeName(isOverLimit: boolean): string {
  return isOverLimit ? 'OVER_LIMIT' : 'OK';
}

/** Fields that are 0 are left out. */
function jsonStatus({
  isOverLimit,
  limit: applied,
  remaining,
  resetAfter,
}: DescriptorStatus): object {
  return {
    code: codeName(isOverLimit),
    ...(applied !== undefined && {
      currentLimit: {
        ...(applied.requestsPerUnit > 0 && { requestsPerUnit: applied.requestsPerUnit }),
        unit: applied.unit.toUpperCase(),
        ...(applied.unitMultiplier !== undefined && { unitMultiplier: applied.unitMultiplier }),
        ...(applied.name !== undefined && { name: applied.name }),
      },
    }),
    ...(remaining > 0 && { limitRemaining: remaining }),
    ...(applied !== undefined && { durationUntilReset: `${resetAfter}s` }),
  };
}
