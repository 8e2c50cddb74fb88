/** Header blocks in bytes, and the fields that they yield. */
import { describe, expect, test } from 'vitest';
import {
  BlockReader,
  CompressionError,
} from '../../../../../src/gateway/http2/hpack/block-reader.ts';
import { HeaderDecoder } from '../../../../../src/gateway/http2/hpack/decoder.ts';
import { integer } from '../../../../support/hpack.ts';

const MAX_BYTES = 4_096;

/** The fields as `name: value`. */
function fieldsOf(block: string | Buffer, decoder = new HeaderDecoder(MAX_BYTES)): string[] {
  const fields: string[] = [];
  const bytes = typeof block === 'string' ? Buffer.from(block.replaceAll(' ', ''), 'hex') : block;
  decoder.decode(bytes, (name, value) => fields.push(`${name}: ${value}`));
  return fields;
}

describe('the examples of RFC 7541, appendix C', () => {
  test.each([
    ['C.1.1', '0a', 5, 10],
    ['C.1.2', '1f9a0a', 5, 1_337],
    ['C.1.3', '2a', 8, 42],
  ])('%s: a number', (_, bytes, bits, value) => {
    expect(new BlockReader(Buffer.from(bytes, 'hex')).integer(bits)).toBe(value);
  });

  test.each([
    ['C.2.1', '400a637573746f6d2d6b65790d637573746f6d2d686561646572', 'custom-key: custom-header'],
    ['C.2.2', '040c2f73616d706c652f70617468', ':path: /sample/path'],
    ['C.2.3', '100870617373776f726406736563726574', 'password: secret'],
    ['C.2.4', '82', ':method: GET'],
  ])('%s: one field', (_, block, field) => {
    const decoder = new HeaderDecoder(MAX_BYTES);
    expect(fieldsOf(block, decoder)).toEqual([field]);
    // Only the first of them is in the table now.
    if (block.startsWith('40')) expect(fieldsOf('be', decoder)).toEqual([field]);
    else expect(() => fieldsOf('be', decoder)).toThrow(CompressionError);
  });

  const REQUESTS = [
    [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
    [
      ...[':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
      'cache-control: no-cache',
    ],
    [
      ...[':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com'],
      'custom-key: custom-value',
    ],
  ];
  test.each([
    [
      'C.3',
      '828684410f7777772e6578616d706c652e636f6d',
      '828684be58086e6f2d6361636865',
      '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
    ],
    [
      'C.4',
      '828684418cf1e3c2e5f23a6ba0ab90f4ff',
      '828684be5886a8eb10649cbf',
      '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
    ],
  ])('%s: requests', (_, ...blocks) => {
    const decoder = new HeaderDecoder(MAX_BYTES);
    expect(blocks.map((block) => fieldsOf(block, decoder))).toEqual(REQUESTS);
    expect(fieldsOf('bebfc0', decoder)).toEqual([
      ...['custom-key: custom-value', 'cache-control: no-cache', ':authority: www.example.com'],
    ]);
  });

  const DATE = 'date: Mon, 21 Oct 2013 20:13:21 GMT';
  const LATER = 'date: Mon, 21 Oct 2013 20:13:22 GMT';
  const LOCATION = 'location: https://www.example.com';
  const COOKIE = 'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1';
  const RESPONSES = [
    [':status: 302', 'cache-control: private', DATE, LOCATION],
    [':status: 307', 'cache-control: private', DATE, LOCATION],
    [
      ...[':status: 200', 'cache-control: private', LATER, LOCATION],
      ...['content-encoding: gzip', COOKIE],
    ],
  ];
  test.each([
    [
      'C.5',
      '4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d',
      '4803333037c1c0bf',
      '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
    ],
    [
      'C.6',
      '488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
      '4883640effc1c0bf',
      '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
    ],
  ])('%s: responses through a table of 256 bytes', (_, ...blocks) => {
    const decoder = new HeaderDecoder(256);
    expect(fieldsOf('3fe101', decoder)).toEqual([]);
    expect(blocks.map((block) => fieldsOf(block, decoder))).toEqual(RESPONSES);
    expect(fieldsOf('bebfc0', decoder)).toEqual([COOKIE, 'content-encoding: gzip', LATER]);
    expect(() => fieldsOf('c1', decoder)).toThrow(CompressionError);
  });
});

const literal = (name: string, value: string, first = 0x40) =>
  Buffer.from(
    `${String.fromCharCode(first, name.length)}${name}${String.fromCharCode(value.length)}${value}`,
    'latin1',
  );

/** It enters the table. */
const longField = (bytes: number) =>
  Buffer.concat([Buffer.from('400161', 'hex'), integer(0, 7, bytes), Buffer.alloc(bytes, 'x')]);

test('every field of appendix A has its number', () => {
  const [first, last] = [fieldsOf('81'), fieldsOf('bd')];
  expect([first, last]).toEqual([[':authority: '], ['www-authenticate: ']]);
  const all = fieldsOf(Buffer.from(Array.from({ length: 61 }, (_, i) => 0x81 + i)));
  expect(all).toHaveLength(61);
  expect(all.slice(13, 17)).toEqual([
    ...[':status: 500', 'accept-charset: ', 'accept-encoding: gzip, deflate', 'accept-language: '],
  ]);
  expect(all[30]).toBe('content-type: ');
  expect(all[57]).toBe('user-agent: ');
});

test('an empty block has no fields, and empty names and values are read', () => {
  expect(fieldsOf('')).toEqual([]);
  expect(fieldsOf('000000')).toEqual([': ']);
  expect(fieldsOf('008080')).toEqual([': ']);
});

test('a text has one character per byte', () => {
  expect(fieldsOf('0001ff02c3a9')).toEqual(['ÿ: Ã©']);
});

test('texts stay what they are when the block is overwritten', () => {
  const decoder = new HeaderDecoder(MAX_BYTES);
  const block = literal('name', 'value');
  const before = fieldsOf(block, decoder);
  block.fill(0);
  expect(before).toEqual(['name: value']);
  expect(fieldsOf('be', decoder)).toEqual(['name: value']);
});

describe('numbers', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('in the last %i bits of a byte', (bits) => {
    const most = 2 ** bits - 1;
    const values = [0, most - 1, most, most + 1, most + 127, most + 128, most + 2 ** 28 - 1];
    for (const value of values) {
      const bytes = Buffer.concat([integer(0, bits, value), Buffer.from([0xff])]);
      // The bits before the number are of no account.
      bytes[0] = (bytes[0] as number) | (0xff & ~most);
      const reader = new BlockReader(bytes);
      expect(reader.integer(bits)).toBe(value);
      expect(reader.at).toBe(bytes.length - 1);
    }
  });

  test('may have more bytes than they need, up to five', () => {
    const reader = new BlockReader(Buffer.from('1f81808000', 'hex'));
    expect(reader.integer(5)).toBe(32);
    expect(reader.at).toBe(5);
  });
});

describe('the size of the table', () => {
  test('drops entries, and may come twice', () => {
    const decoder = new HeaderDecoder(MAX_BYTES);
    fieldsOf(literal('name', 'value'), decoder);
    expect(fieldsOf('20 3fe11f', decoder)).toEqual([]);
    expect(() => fieldsOf('be', decoder)).toThrow('no field has the number 62');
  });

  test('stays until the next change', () => {
    const decoder = new HeaderDecoder(MAX_BYTES);
    // 68 bytes hold two entries of 34.
    fieldsOf('3f25', decoder);
    for (const name of ['a', 'b', 'c']) fieldsOf(literal(name, '1'), decoder);
    expect(fieldsOf('be bf', decoder)).toEqual(['c: 1', 'b: 1']);
    expect(() => fieldsOf('c0', decoder)).toThrow(CompressionError);
  });

  test('may be what the peer was told', () => {
    expect(fieldsOf('3fe11f')).toEqual([]);
    expect(() => fieldsOf('3fe21f')).toThrow('the table may have 4096 bytes, and not 4097');
    expect(fieldsOf('3fe1ff03', new HeaderDecoder(65_536))).toEqual([]);
    expect(() => fieldsOf('3fe2ff03', new HeaderDecoder(65_536))).toThrow(CompressionError);
  });

  test('is 4,096 bytes before the peer knows that it may be 0', () => {
    const decoder = new HeaderDecoder(0);
    fieldsOf(literal('name', 'value'), decoder);
    expect(fieldsOf('be', decoder)).toEqual(['name: value']);
    expect(fieldsOf('20 82', decoder)).toEqual([':method: GET']);
    expect(fieldsOf(literal('name', 'value'), decoder)).toEqual(['name: value']);
    expect(() => fieldsOf('be', decoder)).toThrow(CompressionError);
    expect(() => fieldsOf('21', decoder)).toThrow('the table may have 0 bytes, and not 1');
  });

  test('is 4,096 bytes until the peer makes use of more', () => {
    const decoder = new HeaderDecoder(65_536);
    // With its name and 32 bytes, each is half as large.
    for (let i = 0; i < 3; i++) fieldsOf(longField(2_015), decoder);
    expect(fieldsOf('be bf', decoder)).toHaveLength(2);
    expect(() => fieldsOf('c0', decoder)).toThrow(CompressionError);
  });
});

test('a name may refer to an entry that its own field drops', () => {
  const decoder = new HeaderDecoder(MAX_BYTES);
  // 38 bytes: one entry.
  fieldsOf('3f07', decoder);
  fieldsOf(literal('name', '12'), decoder);
  expect(fieldsOf('7e023334', decoder)).toEqual(['name: 34']);
  expect(fieldsOf('be', decoder)).toEqual(['name: 34']);
  // This one is larger than the table.
  expect(fieldsOf('7e03333435', decoder)).toEqual(['name: 345']);
  expect(() => fieldsOf('be', decoder)).toThrow(CompressionError);
});

test('a field that is not added, or never, leaves the table as it is', () => {
  const decoder = new HeaderDecoder(MAX_BYTES);
  fieldsOf(literal('a', '1'), decoder);
  fieldsOf(literal('b', '2', 0x00), decoder);
  fieldsOf(literal('c', '3', 0x10), decoder);
  expect(fieldsOf('be 0f2f0134 1f2f0135', decoder)).toEqual(['a: 1', 'a: 4', 'a: 5']);
});

test('an index has more than one byte from 127 on', () => {
  const decoder = new HeaderDecoder(MAX_BYTES);
  for (let i = 0; i < 70; i++) fieldsOf(literal('n', String(i)), decoder);
  expect(fieldsOf('ff00 ff04', decoder)).toEqual(['n: 4', 'n: 0']);
  expect(() => fieldsOf('ff05', decoder)).toThrow('no field has the number 132');
});

describe('a block is refused', () => {
  test.each([
    ['the number 0', '80', 'byte 1 of a header block: no field has the number 0'],
    ['a number beyond the tables', '82be', 'byte 2 of a header block: no field has the number 62'],
    ['a name beyond the tables', '7e0161', 'no field has the number 62'],
    ['a name beyond the tables, not added', '0f2f0161', 'no field has the number 62'],
    ['a number without its end', 'ff', 'byte 1 of a header block: the block ends within a number'],
    ['a number without its end', 'ff8080', 'the block ends within a number'],
    ['a number of six bytes', 'ff8080808000', 'a number has more than 5 bytes'],
    ['a number of many bytes', `ff${'ff'.repeat(20)}`, 'a number has more than 5 bytes'],
    ['a length of six bytes', '007f8080808000', 'a number has more than 5 bytes'],
    ['the largest number', 'ffffffff7f', 'no field has the number 268435582'],
    ['no name', '00', 'byte 1 of a header block: the block ends before a string'],
    ['no value', '000161', 'byte 3 of a header block: the block ends before a string'],
    ['no value for an index', '41', 'the block ends before a string'],
    ['a name beyond the end', '000361', 'byte 2 of a header block: the block ends within a string'],
    ['a value beyond the end', '000161027a', 'the block ends within a string'],
    ['a Huffman value beyond the end', '0001618218', 'the block ends within a string'],
    ['a length beyond the end', '007fffffff7f', 'the block ends within a string'],
    ['Huffman padding of 0', '0001618118', 'byte 4 of a header block: a string is no Huffman code'],
    ['Huffman padding of a byte', '00016182f8ff', 'a string is no Huffman code'],
    ['a Huffman string that ends', '00016184ffffffff', 'a string is no Huffman code'],
    ['a Huffman name that is none', '0081000161', 'a string is no Huffman code'],
    ['a size behind a field', '8220', 'a size of the table stands behind a field'],
    ['a size between fields', '823fe11f84', 'a size of the table stands behind a field'],
    ['a size without its end', '3f', 'the block ends within a number'],
    ['a size without its end', '3fe1', 'the block ends within a number'],
    ['a size of six bytes', '3f8080808000', 'a number has more than 5 bytes'],
  ])('%s: %s', (_, block, message) => {
    const refused = () => fieldsOf(block);
    expect(refused).toThrow(CompressionError);
    expect(refused).toThrow(message);
  });
});

test('fields before a mistake are handed on, and none behind it', () => {
  const fields: string[] = [];
  const decode = () =>
    new HeaderDecoder(MAX_BYTES).decode(Buffer.from('828084', 'hex'), (name) => fields.push(name));
  expect(decode).toThrow(CompressionError);
  expect(fields).toEqual([':method']);
});

test('an index yields the text that the table has, and no copy', () => {
  const decoder = new HeaderDecoder(MAX_BYTES);
  const bytes = 4_000;
  fieldsOf(longField(bytes), decoder);
  const bomb = Buffer.alloc(100_000, 0xbe);
  const before = process.memoryUsage().heapUsed;
  const values = new Array<string>(bomb.length);
  let count = 0;
  decoder.decode(bomb, (_, value) => {
    values[count++] = value;
  });
  const grown = process.memoryUsage().heapUsed - before;
  expect(values.every((value) => value === values[0])).toBe(true);
  // Copies would take 400 MB.
  expect(grown).toBeLessThan(40_000_000);
});
