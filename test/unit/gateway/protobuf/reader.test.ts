import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Fields,
  MalformedMessage,
  message,
  number,
  ProtobufReader,
} from '../../../../src/gateway/protobuf/reader.ts';
import { messageField, numberField, textField } from '../../../../src/gateway/protobuf/writer.ts';

interface Found {
  text: string;
  readonly numbers: number[];
}

const INNER: Fields<Found> = {
  1: number(({ numbers }, value) => {
    numbers.push(value);
  }),
};
const FIELDS: Fields<Found> = {
  ...INNER,
  2: (reader, found) => {
    found.text = reader.utf8();
  },
  3: message(INNER),
};

function read(bytes: Buffer | string): Found {
  const found: Found = { text: '', numbers: [] };
  const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  new ProtobufReader(buffer).fieldsUntil(buffer.length, FIELDS, found);
  return found;
}

test('a number is what the writer wrote, up to 2^53 - 1', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (value) => {
      expect(read(numberField(1, value)).numbers).toEqual([value]);
    }),
  );
});

test('numbers are read in messages too, and each time that they appear', () => {
  const bytes = numberField(1, 7) + messageField(3, numberField(1, 300)) + numberField(1, 0);
  expect(read(bytes).numbers).toEqual([7, 300, 0]);
});

test.each([
  ['2^53', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]],
  ['2^64 - 1, or -1 as int32', [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]],
  ['more than 64 bits', [255, 255, 255, 255, 255, 255, 255, 255, 255, 127]],
])('%s is read as the largest exact number', (_, value) => {
  expect(read(Buffer.from([8, ...value])).numbers).toEqual([Number.MAX_SAFE_INTEGER]);
});

test('a value of another type than expected is skipped, with all of its bytes', () => {
  const last = numberField(1, 5);
  expect(read(textField(1, 'a') + last)).toEqual({ text: '', numbers: [5] });
  expect(read(numberField(2, 9) + last)).toEqual({ text: '', numbers: [5] });
  expect(read(numberField(3, 9) + last)).toEqual({ text: '', numbers: [5] });
  // Types of 64 and of 32 bits.
  expect(read(`\x09${'\x08'.repeat(8)}${last}`)).toEqual({ text: '', numbers: [5] });
  expect(read(`\x0d${'\x08'.repeat(4)}${last}`)).toEqual({ text: '', numbers: [5] });
});

test.each([
  ['is missing', [8]],
  ['is cut off', [8, 0x80]],
  ['does not end', [8, ...Array(11).fill(0x80), 0]],
])('a message whose number %s is malformed', (_, bytes) => {
  expect(() => read(Buffer.from(bytes))).toThrow(MalformedMessage);
});

test('a number that runs beyond its message is malformed', () => {
  const inner = Buffer.from([26, 1, 8, 1]);
  expect(() => read(inner)).toThrow(MalformedMessage);
});

test('any bytes are a message or malformed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        for (const value of read(Buffer.from(bytes)).numbers) {
          expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessage);
      }
    }),
    { numRuns: 2_000 },
  );
});
