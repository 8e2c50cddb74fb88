/**
 * Reads what Envoy's access log says about requests that have a settle token. The field numbers are those of
 * envoy/service/accesslog/v3/als.proto, envoy/data/accesslog/v3/accesslog.proto, envoy/config/core/v3/base.proto and
 * google/protobuf/struct.proto.
 */
import type { Outcome } from '../core/counting/outcome.ts';
import { emptyValue, NAMED_VALUE } from '../protobuf/named-value.ts';
import { double, type Fields, message, number, readMessage, text } from '../protobuf/reader.ts';
import type { Settle } from './channel.ts';

type TakeOutcome = (token: string, outcome: Outcome) => void;

/** `AccessLogType`: entries of other types are written before the request has ended, or for one of several attempts. */
const FINAL_TYPES = [0, 6];
/** The status is the one that the upstream sent. Otherwise Envoy made the answer, or the client did not get all of it. */
const FROM_UPSTREAM = 'via_upstream';

interface Entry {
  token: string;
  units: Map<string, number> | undefined;
  type: number;
  isIntermediate: boolean;
  status: number;
  details: string;
  readonly headers: Map<string, string>;
}

interface Value {
  key: string;
  text: string;
  number: number;
}

const VALUE: Fields<Value> = {
  2: double((value, found) => {
    value.number = found;
  }),
  3: text('text'),
};
const STRUCT_FIELD: Fields<Value> = { 1: text('key'), 2: message(VALUE) };

const STRUCT: Fields<(value: Value) => void> = {
  1: (reader, take) =>
    take(reader.message(STRUCT_FIELD, { key: '', text: '', number: Number.NaN })),
};

/** By the namespace of dynamic metadata, what a value in it says. */
const NAMESPACES = new Map<string, (entry: Entry, value: Value) => void>([
  [
    // Where Envoy's filter keeps the metadata of a check's answer.
    'envoy.filters.http.ext_authz',
    (entry, { key, text }) => {
      if (key === 'settle') entry.token = text;
    },
  ],
  [
    // Where `json_to_metadata` and `sse_to_metadata` write units, by their names.
    'headgate',
    (entry, { key, number }) => {
      entry.units ??= new Map();
      entry.units.set(key, number);
    },
  ],
]);

const METADATA: Fields<Entry> = {
  1: (reader, entry) => {
    const { name, value } = reader.message(NAMED_VALUE, emptyValue());
    const take = NAMESPACES.get(name);
    if (take !== undefined) readMessage(value, STRUCT, (each) => take(entry, each));
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

/** A `UInt32Value`. */
const STATUS: Fields<Entry> = {
  1: number((entry, value) => {
    entry.status = value;
  }),
};

const HEADER: Fields<{ name: string; value: string }> = { 1: text('name'), 2: text('value') };

const RESPONSE: Fields<Entry> = {
  1: message(STATUS),
  4: (reader, { headers }) => {
    const { name, value } = reader.message(HEADER, { name: '', value: '' });
    headers.set(name.toLowerCase(), value);
  },
  6: text('details'),
};

const ENTRY: Fields<Entry> = { 1: message(COMMON), 4: message(RESPONSE) };

const ENTRIES: Fields<TakeOutcome> = {
  1: (reader, take) => {
    const entry = reader.message(ENTRY, {
      token: '',
      units: undefined,
      type: 0,
      isIntermediate: false,
      status: 0,
      details: '',
      headers: new Map(),
    });
    const isFinal = FINAL_TYPES.includes(entry.type) && !entry.isIntermediate;
    if (entry.token !== '' && isFinal) take(entry.token, outcomeOf(entry));
  },
};

/** Its first message names Envoy and all its extensions, in field 1. Field 3 has entries about TCP. */
const MESSAGE: Fields<TakeOutcome> = { 2: message(ENTRIES) };

/** `envoy.service.accesslog.v3.AccessLogService`: Envoy reports finished requests, also those that clients aborted. */
export function accessLogService(settle: Settle) {
  return {
    name: 'envoy.service.accesslog.v3.AccessLogService',
    method: 'StreamAccessLogs',
    /** Throws MalformedMessage. */
    take: (message: Buffer) =>
      readAccessLog(message, (token, outcome) => void settle(token, outcome, 'envoy')),
  };
}

/**
 * Reads a `StreamAccessLogsMessage`, and reports each finished request that has a token, once. Throws MalformedMessage; the
 * entries before the mistake are reported.
 */
export function readAccessLog(bytes: Buffer, take: TakeOutcome): void {
  readMessage(bytes, MESSAGE, take);
}

function outcomeOf({ units, status, details, headers }: Entry): Outcome {
  return details === FROM_UPSTREAM ? { status, headers, units } : { units };
}
