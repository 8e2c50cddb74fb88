/**
 * Reads what Envoy's filters have found out, such as the claims of a verified token. The field numbers are those of
 * envoy/service/auth/v3/{external_auth,attribute_context}.proto, envoy/config/core/v3/base.proto (Metadata) and
 * google/protobuf/struct.proto.
 */
import type { ProxyMetadata } from '../../core/check-request.ts';
import { MAX_NAME_BYTES, nameIn } from '../../core/proxy-metadata.ts';
import { emptyValue, NAMED_VALUE } from '../../protobuf/named-value.ts';
import {
  double,
  type Fields,
  MalformedMessage,
  message,
  number,
  readMessage,
} from '../../protobuf/reader.ts';

interface Search {
  /** With one character for each byte, so that names are compared byte by byte. */
  readonly name: string;
  found: Buffer | undefined;
}

/** A map, as in `Metadata.filter_metadata` and `Struct.fields`. If a key is repeated, the last entry counts, as in all maps. */
const MAP: Fields<Search> = {
  1: (reader, search) => {
    const { name, value } = reader.message(NAMED_VALUE, emptyValue());
    if (name === search.name) search.found = value;
  },
};
/** `CheckRequest.attributes.metadata_context` */
const CHECK_REQUEST: Fields<Search> = { 1: message({ 11: message(MAP) }) };

interface Value {
  /** A text or a number. */
  scalar: string | number | undefined;
  struct: Buffer | undefined;
  list: Buffer | undefined;
}

/** Only one of the fields has a value: the last one that the message has. */
function become(value: Value, { scalar, struct, list }: Partial<Value>): void {
  value.scalar = scalar;
  value.struct = struct;
  value.list = list;
}

const NOTHING: Partial<Value> = {};
const becomesNothing = number<Value>((value) => become(value, NOTHING));

const VALUE: Fields<Value> = {
  // null
  1: becomesNothing,
  2: double((value, scalar) => become(value, { scalar })),
  3: (reader, value) => become(value, { scalar: textIn(reader.bytes()) }),
  // true or false
  4: becomesNothing,
  5: (reader, value) => become(value, { struct: reader.bytes() }),
  6: (reader, value) => become(value, { list: reader.bytes() }),
};

interface List {
  members: number;
  first: Buffer | undefined;
}

const LIST: Fields<List> = {
  1: (reader, list) => {
    if (list.members++ === 0) list.first = reader.bytes();
    else reader.skipValue();
  },
};

/** Keeps the bytes of a `CheckRequest` and reads them only when it is called: at most each byte once per call. */
export function filterMetadata(checkRequest: Buffer): ProxyMetadata {
  return {
    text(namespace, path) {
      try {
        return nameAt(lookUp(checkRequest, CHECK_REQUEST, namespace), path);
      } catch (error) {
        // The rest of the request was understood, so the client is one of whom nothing is known.
        if (error instanceof MalformedMessage) return undefined;
        throw error;
      }
    },
  };
}

function nameAt(filter: Buffer | undefined, path: readonly string[]): string | undefined {
  const value: Value = { scalar: undefined, struct: filter, list: undefined };
  for (const name of path) {
    const found = value.struct && lookUp(value.struct, MAP, name);
    if (found === undefined) return undefined;
    become(value, NOTHING);
    readMessage(found, VALUE, value);
  }
  return nameIn(value.list === undefined ? value.scalar : onlyMember(value.list));
}

function onlyMember(bytes: Buffer): Value['scalar'] {
  const { members, first } = readMessage(bytes, LIST, { members: 0, first: undefined });
  if (members !== 1 || first === undefined) return undefined;
  const value: Value = { scalar: undefined, struct: undefined, list: undefined };
  return readMessage(first, VALUE, value).scalar;
}

function lookUp(bytes: Buffer, fields: Fields<Search>, name: string): Buffer | undefined {
  const search = { name: NOT_ASCII.test(name) ? bytesOf(name) : name, found: undefined };
  return readMessage<Search>(bytes, fields, search).found;
}

const NOT_ASCII = /[\u0080-\uffff]/;

function bytesOf(name: string): string {
  return Buffer.from(name).toString('latin1');
}

/** Undefined for a text that is too long, or not UTF-8: its bytes are others once it is written again. */
function textIn(bytes: Buffer): string | undefined {
  if (bytes.length > MAX_NAME_BYTES) return undefined;
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : undefined;
}
