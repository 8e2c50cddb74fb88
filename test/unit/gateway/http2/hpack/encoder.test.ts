/** Header blocks that headgate writes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HeaderDecoder } from '../../../../../src/gateway/http2/hpack/decoder.ts';
import { encodeFields, TABLE_SIZE_ZERO } from '../../../../../src/gateway/http2/hpack/encoder.ts';

type Field = readonly [name: string, value: string];

function decoded(block: Buffer): Field[] {
  const fields: Field[] = [];
  new HeaderDecoder(4_096).decode(block, (name, value) => fields.push([name, value]));
  return fields;
}

describe('a field is written', () => {
  test.each([
    ['by its number', ':status', '200', '88'],
    ['by its number, at the end of the table', 'www-authenticate', '', 'bd'],
    ['with the first number of its name', ':status', '302', '0803333032'],
    ['with a number of more than four bits', 'content-type', 'a', '0f100161'],
    ['with the number that fills four bits', 'accept-charset', 'a', '0f000161'],
    ['with its name', 'grpc-status', '0', '000b677270632d7374617475730130'],
    ['with no value', 'a', '', '00016100'],
    ['with one byte per character', 'a', 'ÿ', '00016101ff'],
  ])('%s', (_, name, value, bytes) => {
    expect(encodeFields([[name, value]]).toString('hex')).toBe(bytes);
  });

  test.each([
    [126, '7e'],
    [127, '7f00'],
    [254, '7f7f'],
    [255, '7f8001'],
    [20_000, '7fa19b01'],
  ])('with a value of %i bytes', (length, bytes) => {
    const block = encodeFields([['a', 'x'.repeat(length)]]);
    expect(block.subarray(3, -length).toString('hex')).toBe(bytes);
    expect(decoded(block)).toEqual([['a', 'x'.repeat(length)]]);
  });
});

test('no fields are no bytes', () => {
  expect(encodeFields([])).toHaveLength(0);
});

test('a block needs no other block, and adds nothing to the table', () => {
  const byte = fc.nat(255).map((code) => String.fromCharCode(code));
  const text = fc.oneof(
    fc.string({ unit: byte, maxLength: 300 }),
    fc.constantFrom(':status', '200', 'content-type', 'grpc-status', ''),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 10 }), (fields) => {
      const block = encodeFields(fields);
      expect(decoded(block)).toEqual(fields);
      expect(() => decoded(Buffer.concat([block, Buffer.from([0xbe])]))).toThrow('number 62');
    }),
  );
});

test('a block may begin with the size 0 of the table', () => {
  const block = Buffer.concat([TABLE_SIZE_ZERO, encodeFields([[':status', '200']])]);
  expect(block.toString('hex')).toBe('2088');
  expect(decoded(block)).toEqual([[':status', '200']]);
});
