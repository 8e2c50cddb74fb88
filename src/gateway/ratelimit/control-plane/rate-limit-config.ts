/**
 * Reads `RateLimitConfig` as what a YAML file says, so that one compiler reads both. The field numbers are those of
 * rls_conf.proto of go-control-plane 2b88c16 (2026-08), which lacks `value_to_metric` and `share_threshold`.
 */
import {
  double,
  type Fields,
  MalformedMessage,
  message,
  number,
  type ProtobufReader,
  type ReadField,
  readMessage,
  text,
} from '../../protobuf/reader.ts';
import { NUMBERED_UNITS } from '../messages/units.ts';
import type { RuleFile } from '../rules/rule.ts';

/** The keys of a file, in its order. A key whose value is undefined is left out. */
type Draft = Record<string, unknown>;

interface Target {
  readonly value: Draft;
}

interface Bounds {
  readonly depth: number;
  readonly budget: { left: number };
}

/** Of descriptors, which control planes nest as a route has conditions, and of metadata. The stack has space for many more. */
const DEEPEST = 64;
/** Descriptors and values of metadata in one message, so that a small message of empty ones does not fill the memory. */
const MOST = 250_000;

const required = (key: string): ReadField<Target> => {
  return (reader, { value }) => {
    value[key] = reader.utf8();
  };
};
/** In protobuf, an empty text or a false flag is the same as none. */
const optional = (key: string): ReadField<Target> => {
  return (reader, { value }) => {
    value[key] = reader.utf8() || undefined;
  };
};
const flag = (key: string) =>
  number<Target>(({ value }, given) => {
    value[key] = given !== 0 || undefined;
  });

const REPLACED: Fields<{ name: string }> = {
  1: text('name'),
};

const POLICY: Fields<Target> = {
  1: number(({ value }, unit) => {
    value.unit = unit === 0 ? undefined : (NUMBERED_UNITS[unit] ?? String(unit));
  }),
  2: number(({ value }, requests) => {
    value.requests_per_unit = requests;
  }),
  3: flag('unlimited'),
  4: optional('name'),
  5: (reader, { value }) => append(value, 'replaces', reader.message(REPLACED, { name: '' })),
};

const DESCRIPTOR: Fields<Target & { readonly level: Bounds }> = {
  1: required('key'),
  2: optional('value'),
  3: (reader, { value }) => {
    value.rate_limit ??= {
      ...{ unit: undefined, requests_per_unit: 0, unlimited: undefined },
      ...{ name: undefined, replaces: undefined },
    };
    reader.message(POLICY, { value: value.rate_limit as Draft });
  },
  4: (reader, { value, level }) => append(value, 'descriptors', readDescriptor(reader, level)),
  5: flag('shadow_mode'),
  6: flag('detailed_metric'),
  7: flag('quota_mode'),
  8: (reader, { value, level }) => {
    value.metadata = readStruct(reader, level.budget);
  },
};

function readDescriptor(reader: ProtobufReader, { depth, budget }: Bounds): Draft {
  if (depth === DEEPEST) {
    throw new MalformedMessage(`its descriptors are nested more than ${DEEPEST} levels deep`);
  }
  if (budget.left-- === 0) throw new MalformedMessage(`it has more than ${MOST} descriptors`);
  const value: Draft = {
    ...{ key: '', value: undefined, rate_limit: undefined },
    ...{ shadow_mode: undefined, quota_mode: undefined, detailed_metric: undefined },
    ...{ metadata: undefined, descriptors: undefined },
  };
  reader.message(DESCRIPTOR, { value, level: { depth: depth + 1, budget } });
  const policy = value.rate_limit as Draft | undefined;
  if (policy?.unlimited && policy.requests_per_unit === 0) policy.requests_per_unit = undefined;
  value.rate_limit = policy && defined(policy);
  return defined(value);
}

const CONFIG: Fields<Target & { name: string; readonly level: Bounds }> = {
  1: text('name'),
  2: required('domain'),
  3: (reader, { value, level }) => append(value, 'descriptors', readDescriptor(reader, level)),
};

/** Throws MalformedMessage. */
export function readRateLimitConfig(bytes: Buffer): RuleFile {
  const value: Draft = { domain: '' };
  const config = { name: '', value, level: { depth: 0, budget: { left: MOST } } };
  readMessage(bytes, CONFIG, config);
  return { name: config.name || String(value.domain), value };
}

function append(value: Draft, key: string, item: unknown): void {
  const known = value[key] as unknown[] | undefined;
  if (known === undefined) value[key] = [item];
  else known.push(item);
}

function defined(draft: Draft): Draft {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
}

export type Struct = Readonly<Record<string, unknown>>;

interface Slot {
  key: string;
  value: unknown;
  readonly bounds: Bounds;
}

const VALUE: Fields<Slot> = {
  1: number((slot) => {
    slot.value = null;
  }),
  2: double((slot, value) => {
    slot.value = value;
  }),
  3: (reader, slot) => {
    slot.value = reader.utf8();
  },
  4: number((slot, value) => {
    slot.value = value !== 0;
  }),
  5: (reader, slot) => {
    slot.value = structOf(reader, below(slot.bounds));
  },
  6: (reader, slot) => {
    slot.value = slotsOf(reader, VALUE, below(slot.bounds)).map(({ value }) => value);
  },
};

const ENTRY: Fields<Slot> = { 1: text('key'), 2: message(VALUE) };

/** The value of the current field. Each value in it takes one from the budget. Throws MalformedMessage. */
export function readStruct(reader: ProtobufReader, budget: { left: number }): Struct {
  return structOf(reader, { depth: 0, budget });
}

function structOf(reader: ProtobufReader, bounds: Bounds): Struct {
  const slots = slotsOf(reader, ENTRY, bounds);
  return Object.fromEntries(slots.map(({ key, value }) => [key, value]));
}

/** The values of a list, or those of a struct with their keys. */
function slotsOf(reader: ProtobufReader, fields: Fields<Slot>, bounds: Bounds): Slot[] {
  const slots: Slot[] = [];
  const readSlot = message(fields);
  const repeated: Fields<Slot[]> = {
    1: (field) => {
      if (bounds.budget.left-- === 0) {
        throw new MalformedMessage('its metadata has too many values');
      }
      const slot: Slot = { key: '', value: null, bounds };
      readSlot(field, slot);
      slots.push(slot);
    },
  };
  message(repeated)(reader, slots);
  return slots;
}

function below({ depth, budget }: Bounds): Bounds {
  if (depth === DEEPEST) {
    throw new MalformedMessage(`its metadata is nested more than ${DEEPEST} levels deep`);
  }
  return { depth: depth + 1, budget };
}
