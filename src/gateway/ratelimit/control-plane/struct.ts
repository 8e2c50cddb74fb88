/** Reads `google.protobuf.Struct`, which holds what JSON can say. The field numbers are those of google/protobuf/struct.proto. */
import {
  double,
  type Fields,
  MalformedMessage,
  message,
  number,
  type ProtobufReader,
} from '../../protobuf/reader.ts';
import { text } from './messages.ts';

export type Struct = Readonly<Record<string, unknown>>;

/** The stack has space for many more. */
const DEEPEST = 64;

interface Bounds {
  readonly depth: number;
  readonly budget: { left: number };
}

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
