/** Metadata of a control plane: free values, with Google's definition of `Struct`. */
import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedMessage, ProtobufReader } from '../../../../../src/gateway/protobuf/reader.ts';
import {
  readRateLimitConfig,
  readStruct,
  type Struct,
} from '../../../../../src/gateway/ratelimit/control-plane/rate-limit-config.ts';
import { messageOf } from '../../../../support/grpc-client.ts';
import { field } from '../../../../support/grpc-frames.ts';

const STRUCT = messageOf(loadSync('google/protobuf/struct.proto'), 'google.protobuf.Struct');
const MANY = 1_000;

function structOf(values: Struct): object {
  return { fields: Object.fromEntries(Object.entries(values).map(([k, v]) => [k, asValue(v)])) };
}

function asValue(value: unknown): object {
  if (value === null) return { nullValue: 0 };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { listValue: { values: value.map(asValue) } };
  return { structValue: structOf(value as Struct) };
}

const bytesOf = (values: Struct): Buffer => STRUCT.serialize(structOf(values));

function read(struct: Buffer, most = MANY): Struct {
  const bytes = field(1, struct);
  let found: Struct = {};
  new ProtobufReader(bytes).fieldsUntil(
    bytes.length,
    {
      1: (reader: ProtobufReader) => {
        found = readStruct(reader, { left: most });
      },
    },
    undefined,
  );
  return found;
}

test('is read as it was written', () => {
  const values = {
    name: 'service_1',
    weight: -0.5,
    big: 4_294_967_296,
    on: true,
    off: false,
    none: null,
    empty: {},
    list: [1, 'ä', [], { deep: [null] }],
    ['__proto__']: 'a name like others',
  };
  expect(Object.entries(read(bytesOf(values)))).toEqual(Object.entries(values));
});

test('whatever JSON can say', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (values) => {
      const plain = { ...values };
      expect(read(bytesOf(plain))).toEqual(plain);
    }),
  );
});

test('bytes that are no struct are refused', () => {
  for (const bytes of [[0x73], [0x0a, 0x05, 0x0a], [0x0a, 0x04, 0x12, 0x02, 0x11, 0x00]]) {
    expect(() => read(Buffer.from(bytes))).toThrow(MalformedMessage);
  }
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      try {
        read(Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessage);
      }
    }),
  );
});

test('depth and size are bounded', () => {
  const nested = (depth: number): Struct => (depth === 0 ? {} : { a: nested(depth - 1) });
  // The library that writes the other structs nests less deeply.
  const nestedBytes = (depth: number): Buffer =>
    depth === 0
      ? Buffer.alloc(0)
      : field(1, field(1, Buffer.from('a')), field(2, field(5, nestedBytes(depth - 1))));
  expect(read(nestedBytes(64))).toEqual(nested(64));
  expect(() => read(nestedBytes(65))).toThrow('nested more than 64 levels deep');
  const list = { a: Array(MANY - 1).fill(null) };
  expect(read(bytesOf(list))).toEqual(list);
  expect(() => read(bytesOf(list), MANY - 1)).toThrow('too many values');
});

test('a configuration keeps it beside the limit', () => {
  const text = (id: number, value: string) => field(id, Buffer.from(value));
  const metadata = { service_with_quota: { name: 'service_1' } };
  const descriptor = field(3, text(1, 'service'), field(8, bytesOf(metadata)));
  const config = readRateLimitConfig(Buffer.concat([text(2, 'rl'), descriptor]));
  expect(config.value).toEqual({
    domain: 'rl',
    descriptors: [{ key: 'service', metadata }],
  });
});
