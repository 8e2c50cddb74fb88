/**
 * The messages of Envoy's external authorization, as far as headgate reads and writes them. The field numbers are those
 * of envoy/service/auth/v3/{external_auth,attribute_context}.proto, envoy/config/core/v3/{address,base}.proto and
 * google/rpc/status.proto; `request-info.ts` and `filter-metadata.ts` read metadata. Other fields are skipped, so every Envoy
 * of API v3 is understood.
 */
import {
  type Fields,
  message,
  type ProtobufReader,
  RepeatedTexts,
  readMessage,
} from '../../protobuf/reader.ts';
import { messageField, numberField, textField } from '../../protobuf/writer.ts';
import { METADATA } from './request-info.ts';

/** What headgate reads of a `CheckRequest`. Texts have one character for each byte, as Node reads HTTP headers. */
export interface EnvoyCheck {
  /** Empty if the check is not about an HTTP request. */
  method: string;
  path: string;
  host: string;
  /** Without pseudo headers. Repeated headers are joined with a comma. */
  readonly headers: Record<string, string>;
  peer: string | undefined;
  readonly contextExtensions: Record<string, string>;
  /** By the namespace of the metadata. Undefined if Envoy estimates nothing. */
  estimates: Map<string, number> | undefined;
  /** Whether the message has metadata for `filter-metadata.ts`. */
  hasFilterMetadata: boolean;
}

interface Entry {
  key: string;
  value: string;
  rawValue: string | undefined;
}

const headerNames = new RepeatedTexts();
const methods = new RepeatedTexts();

const HEADER: Fields<Entry> = {
  1: (reader, entry) => {
    entry.key = reader.repeated(headerNames);
  },
  2: (reader, entry) => {
    if (isPseudoHeader(entry.key)) reader.skipValue();
    else entry.value = reader.latin1();
  },
  3: (reader, entry) => {
    entry.rawValue = reader.latin1();
  },
};

/** `:method`, `:path` and so on. They are fields of their own, too. */
function isPseudoHeader(name: string): boolean {
  return name.startsWith(':');
}

const EXTENSION: Fields<Entry> = {
  1: (reader, entry) => {
    entry.key = reader.utf8();
  },
  2: (reader, entry) => {
    entry.value = reader.utf8();
  },
};

function entry(reader: ProtobufReader, fields: Fields<Entry>): Entry {
  return reader.message(fields, { key: '', value: '', rawValue: undefined });
}

/** In place of `headers` with `encode_raw_headers`. */
const HEADER_MAP: Fields<EnvoyCheck> = {
  1: (reader, { headers }) => {
    const { key, value, rawValue } = entry(reader, HEADER);
    if (isPseudoHeader(key)) return;
    const text = rawValue ?? value;
    headers[key] = headers[key] === undefined ? text : `${headers[key]},${text}`;
  },
};

const HTTP_REQUEST: Fields<EnvoyCheck> = {
  2: (reader, check) => {
    check.method = reader.repeated(methods);
  },
  3: (reader, { headers }) => {
    const { key, value } = entry(reader, HEADER);
    if (!isPseudoHeader(key)) headers[key] = value;
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
  11: message(METADATA),
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
    estimates: undefined,
    hasFilterMetadata: false,
  };
  readMessage(bytes, CHECK_REQUEST, check);
  return check;
}

export interface EnvoyAnswer {
  /** A status code of gRPC; 0 allows the request. */
  readonly code: number;
  readonly status: number;
  /** Name, value, name, value. Those of an allow replace headers of the application's response. */
  readonly headers: readonly string[];
  /** Only of an allow. */
  readonly settleToken?: string | undefined;
  /** Envoy reads status and body from denials only. */
  readonly body: string;
}

/** OVERWRITE_IF_EXISTS_OR_ADD. By default Envoy adds a second value to the application's. */
const OVERWRITE = numberField(3, 2);
/** Up to 1.36, Envoy drops headers with an append action from a denial. */
const WITHOUT_ACTION = '';

const SETTLE_HEADER = 'x-headgate-settle';
/** The client may have sent the header. Envoy removes headers after it has set others. */
const NO_TOKEN = textField(5, SETTLE_HEADER);
/** The key of the token in Envoy's metadata `envoy.filters.http.ext_authz`, which its access log can send. */
const SETTLE_KEY = 'settle';

/** The bytes of the message, one per character. */
export function writeCheckResponse(answer: EnvoyAnswer): string {
  const { code, status, headers, settleToken, body } = answer;
  const codeField = messageField(1, numberField(1, code));
  if (code === 0) {
    const options = headerOptions(6, headers, OVERWRITE);
    if (settleToken === undefined) return codeField + messageField(3, options + NO_TOKEN);
    const request = headerOptions(2, [SETTLE_HEADER, settleToken], OVERWRITE);
    return codeField + messageField(3, options + request) + messageField(4, metadata(settleToken));
  }
  const denied =
    messageField(1, numberField(1, status)) +
    headerOptions(2, headers, WITHOUT_ACTION) +
    textField(3, body);
  return codeField + messageField(2, denied);
}

/** A google.protobuf.Struct with one text (google/protobuf/struct.proto). */
function metadata(settleToken: string): string {
  const value = messageField(2, textField(3, settleToken));
  return messageField(1, textField(1, SETTLE_KEY) + value);
}

function headerOptions(field: number, headers: readonly string[], action: string): string {
  let options = '';
  for (let i = 0; i < headers.length; i += 2) {
    const header = textField(1, headers[i] ?? '') + textField(2, headers[i + 1] ?? '');
    options += messageField(field, messageField(1, header) + action);
  }
  return options;
}
