/** The dynamic metadata of an answer: the call, and what the rules that admitted it say. As in envoyproxy/ratelimit. */
import { isRecord } from '../core/is-record.ts';
import type { CallDescriptor, LimitOverride, RateLimitCall } from './call.ts';
import type { CountedShare } from './counting/count.ts';
import { OVERRIDE_UNITS } from './messages/units.ts';

type Struct = Readonly<Record<string, unknown>>;

export function metadataOf(call: RateLimitCall, counted: readonly CountedShare[]): Struct {
  const passed = counted
    .filter(({ share, isOverLimit }) => !isOverLimit || share.isShadow)
    .map(({ share }) => share.counted.rule.metadata ?? {});
  const merged = passed.reduce<Struct>(mergedStruct, {});
  return {
    domain: call.domain,
    descriptors: call.descriptors.map(described),
    ...(call.hitsAddend > 0 && { hitsAddend: call.hitsAddend }),
    ...(Object.keys(merged).length > 0 && { metadata: merged }),
  };
}

function described({ entries, limit, hitsAddend }: CallDescriptor): Struct {
  return {
    entries: entries.map(({ key, value }) => `${key}=${value}`),
    ...(limit && { limit: textOf(limit) }),
    ...(hitsAddend !== undefined && { hitsAddend }),
  };
}

/** As protobuf writes it: fields that are 0 are left out. */
function textOf({ requestsPerUnit, unit, unitMultiplier }: LimitOverride): string {
  return [
    requestsPerUnit > 0 && `requests_per_unit:${requestsPerUnit}`,
    `unit:${OVERRIDE_UNITS[unit]?.toUpperCase()}`,
    unitMultiplier !== undefined && `unit_multiplier:{value:${unitMultiplier}}`,
  ]
    .filter((part) => part !== false)
    .join(' ');
}

/** The first value of a name stays, except that structs are merged. */
function mergedStruct(into: Struct, more: Struct): Struct {
  const merged: Record<string, unknown> = { ...into };
  for (const [name, value] of Object.entries(more)) {
    if (!Object.hasOwn(merged, name)) merged[name] = value;
    else if (isRecord(merged[name]) && isRecord(value)) {
      merged[name] = mergedStruct(merged[name], value);
    }
  }
  return merged;
}
