/**
 * Reads what Envoy's access log says about requests that have a settle token. The field numbers are those of
 * envoy/service/accesslog/v3/als.proto, envoy/data/accesslog/v3/accesslog.proto, envoy/config/core/v3/base.proto and
 * google/protobuf/struct.proto.
 */
import type { Outcome } from '../core/counting/outcome.ts';
import {
  double,
  type Fields,
  message,
  number,
  ProtobufReader,
  RepeatedTexts,
  text,
} from '../protobuf/reader.ts';

type TakeOutcome = (token: string, outcome: Outcome) => void;

/** Where Envoy's filter keeps the metadata of a check's answer. */
const AUTHORIZATION = 'envoy.filters.http.ext_authz';
const TOKEN = 'settle';
/** Where `json_to_metadata` and `sse_to_metadata` write units, by their names. */
const UNITS = 'headgate';
/** `AccessLogType`: entries of other types are written before the request has ended, or for one of several attempts. */
const FINAL_TYPES = [0, 6];
/** The status is the one that the upstream sent. Otherwise Envoy made the answer, or the client did not get all of it. */
const FROM_UPSTREAM = 'via_upstream';

interface Entry {
  token: string;
  units: Map<string, number> | undefined;
  type: number;
  isIntermediate: boolean;
  response: Buffer | undefined;
}

interface Response {
  status: number;
  details: string;
  readonly headers: Map<string, string>;
}

interface Value {
  key: string;
  text: string;
  number: number | undefined;
}

const namespaces = new RepeatedTexts();

const VALUE: Fields<Value> = {
  2: double((value, found) => {
    value.number = found;
  }),
  3: text('text'),
};
const STRUCT_FIELD: Fields<Value> = { 1: text('key'), 2: message(VALUE) };

function valueIn(reader: ProtobufReader): Value {
  const value: Value = { key: '', text: '', number: undefined };
  reader.fieldsUntil(reader.endOfValue(), STRUCT_FIELD, value);
  return value;
}

const AUTHORIZATION_STRUCT: Fields<Entry> = {
  1: (reader, entry) => {
    const { key, text } = valueIn(reader);
    if (key === TOKEN) entry.token = text;
  },
};
const UNITS_STRUCT: Fields<Entry> = {
  1: (reader, entry) => {
    const { key, number: units } = valueIn(reader);
    entry.units ??= new Map();
    if (units !== undefined && Number.isSafeInteger(units) && units >= 0) {
      entry.units.set(key, units);
    } else entry.units.delete(key);
  },
};
const STRUCTS: ReadonlyMap<string, Fields<Entry>> = new Map([
  [AUTHORIZATION, AUTHORIZATION_STRUCT],
  [UNITS, UNITS_STRUCT],
]);

interface Namespace {
  name: string;
  struct: Buffer | undefined;
}

const NAMESPACE: Fields<Namespace> = {
  1: (reader, namespace) => {
    namespace.name = reader.repeated(namespaces);
  },
  2: (reader, namespace) => {
    namespace.struct = reader.bytes();
  },
};

const METADATA: Fields<Entry> = {
  1: (reader, entry) => {
    const namespace: Namespace = { name: '', struct: undefined };
    reader.fieldsUntil(reader.endOfValue(), NAMESPACE, namespace);
    const fields = STRUCTS.get(namespace.name);
    if (fields !== undefined && namespace.struct !== undefined) {
      readFields(namespace.struct, fields, entry);
    }
  },
};

const COMMON: Fields<Entry> = {
  17: message(METADATA),
  27: number((entry, value) => {
    entry.isIntermediate = value !== 0;
  }),
  33: number((entry, value) => {
    entry.type = value;
  }),
};

const ENTRY: Fields<Entry> = {
  1: message(COMMON),
  4: (reader, entry) => {
    entry.response = reader.bytes();
  },
};

/** A `UInt32Value`. */
const STATUS: Fields<Response> = {
  1: number((response, value) => {
    response.status = value;
  }),
};

const HEADER: Fields<{ name: string; value: string }> = { 1: text('name'), 2: text('value') };

const RESPONSE: Fields<Response> = {
  1: message(STATUS),
  4: (reader, { headers }) => {
    const header = { name: '', value: '' };
    reader.fieldsUntil(reader.endOfValue(), HEADER, header);
    headers.set(header.name.toLowerCase(), header.value);
  },
  6: text('details'),
};

const ENTRIES: Fields<TakeOutcome> = {
  1: (reader, take) => {
    const entry: Entry = {
      token: '',
      units: undefined,
      type: 0,
      isIntermediate: false,
      response: undefined,
    };
    reader.fieldsUntil(reader.endOfValue(), ENTRY, entry);
    const isFinal = FINAL_TYPES.includes(entry.type) && !entry.isIntermediate;
    if (entry.token !== '' && isFinal) take(entry.token, outcomeOf(entry));
  },
};

/** Its first message names Envoy and all its extensions, in field 1. Field 3 has entries about TCP. */
const MESSAGE: Fields<TakeOutcome> = { 2: message(ENTRIES) };

/**
 * Reads a `StreamAccessLogsMessage`, and reports each finished request that has a token, once. Throws MalformedMessage; the
 * entries before the mistake are reported.
 */
export function readAccessLog(bytes: Buffer, take: TakeOutcome): void {
  readFields(bytes, MESSAGE, take);
}

function outcomeOf({ units, response: bytes }: Entry): Outcome {
  if (bytes === undefined) return { units };
  const response: Response = { status: 0, details: '', headers: new Map() };
  readFields(bytes, RESPONSE, response);
  if (response.details !== FROM_UPSTREAM) return { units };
  return { status: response.status, headers: response.headers, units };
}

function readFields<Target>(bytes: Buffer, fields: Fields<Target>, target: Target): void {
  new ProtobufReader(bytes).fieldsUntil(bytes.length, fields, target);
}
