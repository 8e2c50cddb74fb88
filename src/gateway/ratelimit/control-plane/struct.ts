/** Reads `google.protobuf.Struct`, which holds what JSON can say. The field numbers are those of google/protobuf/struct.proto. */
import {
  double,
  type Fields,
  MalformedMessage,
  number,
  type ProtobufReader,
} from '../../protobuf/reader.ts';

export type Struct = Readonly<Record<string, unknown>>;

/** The stack has space for many more. */
const DEEPEST = 64;

interface Place {
  readonly depth: number;
  readonly budget: { left: number };
}

interface Slot {
  value: unknown;
  readonly place: Place;
}

interface Entry extends Slot {
  key: string;
}

interface Entries {
  readonly entries: [string, unknown][];
  readonly place: Place;
}

interface List {
  readonly values: unknown[];
  readonly place: Place;
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
    slot.value = fieldsOf(reader, below(slot.place));
  },
  6: (reader, slot) => {
    const list: List = { values: [], place: below(slot.place) };
    reader.fieldsUntil(reader.endOfValue(), LIST, list);
    slot.value = list.values;
  },
};

const LIST: Fields<List> = {
  1: (reader, { values, place }) => {
    const slot = { value: null, place: spend(place) };
    reader.fieldsUntil(reader.endOfValue(), VALUE, slot);
    values.push(slot.value);
  },
};

const ENTRY: Fields<Entry> = {
  1: (reader, entry) => {
    entry.key = reader.utf8();
  },
  2: (reader, entry) => reader.fieldsUntil(reader.endOfValue(), VALUE, entry),
};

const FIELDS: Fields<Entries> = {
  1: (reader, { entries, place }) => {
    const entry: Entry = { key: '', value: null, place: spend(place) };
    reader.fieldsUntil(reader.endOfValue(), ENTRY, entry);
    entries.push([entry.key, entry.value]);
  },
};

/** The value of the current field. Each value in it takes one from the budget. Throws MalformedMessage. */
export function readStruct(reader: ProtobufReader, budget: { left: number }): Struct {
  return fieldsOf(reader, { depth: 0, budget });
}

function fieldsOf(reader: ProtobufReader, place: Place): Struct {
  const found: Entries = { entries: [], place };
  reader.fieldsUntil(reader.endOfValue(), FIELDS, found);
  return Object.fromEntries(found.entries);
}

function below({ depth, budget }: Place): Place {
  if (depth === DEEPEST) {
    throw new MalformedMessage(`its metadata is nested more than ${DEEPEST} levels deep`);
  }
  return { depth: depth + 1, budget };
}

function spend(place: Place): Place {
  if (place.budget.left-- === 0) throw new MalformedMessage('its metadata has too many values');
  return place;
}
