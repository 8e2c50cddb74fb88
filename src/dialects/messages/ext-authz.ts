/**
 * The messages of Envoy's external authorization, as far as headgate reads and writes them. The field numbers are those
 * of envoy/service/auth/v3/{external_auth,attribute_context}.proto, envoy/config/core/v3/{address,base}.proto and
 * google/rpc/status.proto. Other fields are skipped, so every Envoy of API v3 is understood.
 */
import { type Fields, message, ProtobufReader } from '../../protobuf/reader.ts';
import { ProtobufWriter } from '../../protobuf/writer.ts';

/** What headgate reads of a `CheckRequest`. Texts have one character for each byte, as Node reads HTTP headers. */
export interface EnvoyCheck {
  /** Empty if the check is not about an HTTP request. */
  method: string;
  path: string;
  host: string;
  /** Repeated headers are joined with a comma. */
  readonly headers: Record<string, string>;
  /** The address that connected to Envoy. */
  peer: string | undefined;
  /** What the route's `check_settings` say. */
  readonly contextExtensions: Record<string, string>;
}

interface Entry {
  key: string;
  value: string;
  rawValue: string | undefined;
}

const HEADER: Fields<Entry> = {
  1: (reader, entry) => {
    entry.key = reader.latin1();
  },
  2: (reader, entry) => {
    entry.value = reader.latin1();
  },
  3: (reader, entry) => {
    entry.rawValue = reader.latin1();
  },
};

const EXTENSION: Fields<Entry> = {
  1: (reader, entry) => {
    entry.key = reader.utf8();
  },
  2: (reader, entry) => {
    entry.value = reader.utf8();
  },
};

function entry(reader: ProtobufReader, fields: Fields<Entry>): Entry {
  const found: Entry = { key: '', value: '', rawValue: undefined };
  reader.fieldsUntil(reader.endOfValue(), fields, found);
  return found;
}

/** In place of `headers` with `encode_raw_headers`. */
const HEADER_MAP: Fields<EnvoyCheck> = {
  1: (reader, { headers }) => {
    const { key, value, rawValue } = entry(reader, HEADER);
    const text = rawValue ?? value;
    headers[key] = headers[key] === undefined ? text : `${headers[key]},${text}`;
  },
};

const HTTP_REQUEST: Fields<EnvoyCheck> = {
  2: (reader, check) => {
    check.method = reader.latin1();
  },
  3: (reader, { headers }) => {
    const { key, value } = entry(reader, HEADER);
    headers[key] = value;
  },
  4: (reader, check) => {
    check.path = reader.latin1();
  },
  5: (reader, check) => {
    check.host = reader.latin1();
  },
  13: message(HEADER_MAP),
};

const SOCKET_ADDRESS: Fields<EnvoyCheck> = {
  2: (reader, check) => {
    check.peer = reader.latin1();
  },
};
const ADDRESS: Fields<EnvoyCheck> = { 1: message(SOCKET_ADDRESS) };
const PEER: Fields<EnvoyCheck> = { 1: message(ADDRESS) };
const REQUEST: Fields<EnvoyCheck> = { 2: message(HTTP_REQUEST) };

const ATTRIBUTES: Fields<EnvoyCheck> = {
  1: message(PEER),
  4: message(REQUEST),
  10: (reader, { contextExtensions }) => {
    const { key, value } = entry(reader, EXTENSION);
    contextExtensions[key] = value;
  },
};
const CHECK_REQUEST: Fields<EnvoyCheck> = { 1: message(ATTRIBUTES) };

/** Throws MalformedMessage. */
export function readCheckRequest(bytes: Buffer): EnvoyCheck {
  const check: EnvoyCheck = {
    method: '',
    path: '',
    host: '',
    headers: Object.create(null),
    peer: undefined,
    contextExtensions: Object.create(null),
  };
  new ProtobufReader(bytes).fieldsUntil(bytes.length, CHECK_REQUEST, check);
  return check;
}

/** What headgate writes into a `CheckResponse`. */
export interface EnvoyAnswer {
  /** A status code of gRPC; 0 allows the request. */
  readonly code: number;
  /** The status for the client. Envoy reads it from denials only. */
  readonly status: number;
  /** Name, value, name, value. Those of an allow replace headers of the application's response. */
  readonly headers: readonly string[];
  /** The body for the client. Envoy reads it from denials only. */
  readonly body: string;
}

/** OVERWRITE_IF_EXISTS_OR_ADD. By default Envoy adds a second value to the application's. */
const OVERWRITE = 2;
/** At least as many bytes as tags and lengths take. */
const BYTES_PER_TEXT = 16;
const BYTES_AROUND = 64;
const MAX_BYTES_PER_CHARACTER = 3;

export function writeCheckResponse(answer: EnvoyAnswer): Buffer {
  const { code, status, headers, body } = answer;
  const writer = new ProtobufWriter(capacityFor(answer));
  const end = writer.position;
  if (code === 0) {
    writeHeaders(writer, headers, { field: 6, action: OVERWRITE });
    writer.message(3, end);
  } else {
    writer.text(3, body);
    // Up to 1.36 Envoy drops headers with an append action from a denial.
    writeHeaders(writer, headers, { field: 2, action: undefined });
    const statusEnd = writer.position;
    writer.number(1, status);
    writer.message(1, statusEnd);
    writer.message(2, end);
  }
  const codeEnd = writer.position;
  writer.number(1, code);
  writer.message(1, codeEnd);
  return writer.written();
}

/** `HeaderValueOption` for each header, in the given field. */
function writeHeaders(
  writer: ProtobufWriter,
  headers: readonly string[],
  { field, action }: { readonly field: number; readonly action: number | undefined },
): void {
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    const optionEnd = writer.position;
    if (action !== undefined) writer.number(3, action);
    const headerEnd = writer.position;
    writer.text(2, headers[i + 1] ?? '');
    writer.text(1, headers[i] ?? '');
    writer.message(1, headerEnd);
    writer.message(field, optionEnd);
  }
}

function capacityFor({ headers, body }: EnvoyAnswer): number {
  let characters = body.length;
  for (const text of headers) characters += text.length;
  return characters * MAX_BYTES_PER_CHARACTER + headers.length * BYTES_PER_TEXT + BYTES_AROUND;
}
