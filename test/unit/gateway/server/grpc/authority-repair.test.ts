/** Requests whose `:authority` is no host name, which Node would reset. */
import { describe, expect, test } from 'vitest';
import { repairBlock } from '../../../../../src/gateway/server/grpc/authority/header-block.ts';
import { decodeHuffman } from '../../../../../src/gateway/server/grpc/authority/huffman.ts';
import { AuthorityRepair } from '../../../../../src/gateway/server/grpc/authority/repaired-connection.ts';
import { frame, literal, PREFACE, Type } from '../../../../support/http2-frames.ts';
import { Random } from '../../../../support/random.ts';

const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;

const REPAIRED = 'outbound_8081__ratelimit.default.svc.cluster.local';
/** The header block of a call by Envoy 1.40.0, whose cluster is called outbound|8081||ratelimit.default.svc.cluster.local. */
const FROM_ENVOY = Buffer.from(
  '8304ab60b5773fa5d05b3b98855ec1a4b41a93257eecafb4692e735264ee2d9dcc42b1ba73db449b4692e735264f41a53da98cf6d527fc780f07fe7fcb0692d06a4c95e42ca3b684ae8ee45c945a8496c5e83907478640027465864d833505b11f40899acac8b24d494f6a7f8308014f5f8b1d75d0620d263d4c4d6564408cf2b16aee7f4b1aa496ca8747834d9697408bf2b4a7b3c0ec90b22d29ec870be25c0b89717f4096f2b16aee7f4b17cd65224b22d6765926a4a7b52b528f820801',
  'hex',
);

/** Its name is number 1 of the static table, and the field is remembered. */
const authority = (value: string) =>
  Buffer.concat([Buffer.from([0x41, value.length]), Buffer.from(value, 'latin1')]);
/** The name in Huffman code: 57 bits, and ones. */
const CODED_NAME = Buffer.concat([
  Buffer.from([0x88]),
  bits(
    '1011100',
    '00011',
    '101101',
    '01001',
    '100111',
    '00111',
    '101100',
    '00110',
    '01001',
    '1111010',
  ),
]);
const POST = Buffer.from([0x83]);
const headers = (block: Buffer, flags = END_HEADERS) => frame(Type.headers, flags, 1, block);
const start = (...frames: Buffer[]) => Buffer.concat([Buffer.from(PREFACE), ...frames]);

/** Codes one after the other, filled up with ones. */
function bits(...codes: string[]): Buffer {
  const text = codes.join('');
  const bytes = text.match(/.{1,8}/g)?.map((byte) => Number.parseInt(byte.padEnd(8, '1'), 2));
  return Buffer.from(bytes ?? []);
}

/** The length of a string in HPACK. */
function stringLength(length: number): Buffer {
  if (length < 127) return Buffer.from([length]);
  const rest = length - 127;
  return Buffer.from(rest < 128 ? [127, rest] : [127, (rest & 127) | 128, rest >> 7]);
}

test('decodes the examples of RFC 7541, appendix C.4 and C.6', () => {
  const decode = (hex: string) => decodeHuffman(Buffer.from(hex, 'hex'));
  expect(decode('f1e3c2e5f23a6ba0ab90f4ff')).toBe('www.example.com');
  expect(decode('a8eb10649cbf')).toBe('no-cache');
  expect(decode('25a849e95bb8e8b4bf')).toBe('custom-value');
  expect(decode('d07abe941054d444a8200595040b8166e082a62d1bff')).toBe(
    'Mon, 21 Oct 2013 20:13:21 GMT',
  );
});

test('decodes characters that no host name has to one that no host name has', () => {
  // A backslash: 7fff0, and ones.
  expect(decodeHuffman(Buffer.from('fffe1f', 'hex'))).toBe('\x7f');
  // "a", the byte FF: 3ffffee, "b": 23 (RFC 7541, appendix B), and ones.
  expect(decodeHuffman(bits('00011', '11111111111111111111101110', '100011'))).toBe('a\x7fb');
});

test('decodes no end of a string in the middle of one', () => {
  expect(decodeHuffman(Buffer.from('ffffffff', 'hex'))).toBe(undefined);
});

describe('in a header block', () => {
  test('characters that Node refuses become "_", and the length stays', () => {
    const repaired = repairBlock(FROM_ENVOY);
    expect(repaired?.includes(authority(REPAIRED))).toBe(true);
    // Everything before and after it is as it was: `83 04 ab …` and `40 02 te …`.
    const [at, end] = [FROM_ENVOY.indexOf(Buffer.from('41a5', 'hex')), 2 + 0x25];
    expect(repaired).toEqual(
      Buffer.concat([
        FROM_ENVOY.subarray(0, at),
        authority(REPAIRED),
        FROM_ENVOY.subarray(at + end),
      ]),
    );
  });

  test.each([
    ['no authority', POST],
    ['an authority that Node accepts', authority("a-z.A_Z:80~!$&'()*+,;=%@[]")],
    ['one of the table', Buffer.from([0x81])],
    ['another field with such a value', literal('x-a', 'a|b')],
    ['nothing', Buffer.alloc(0)],
  ])('%s is left as it is', (_, block) => {
    expect(repairBlock(block)).toBe(undefined);
  });

  test.each([
    ['after a new size of the table', Buffer.from([0x3f, 0xe1, 0x1f])],
    ['after a long field', literal('x-a', 'b'.repeat(126))],
    ['after a field that is never remembered', Buffer.from([0x1f, 0x10, 1, 0x61])],
  ])('it is found %s', (_, before) => {
    const block = (value: string) => Buffer.concat([before, authority(value), POST]);
    expect(repairBlock(block('a|b'))).toEqual(block('a_b'));
  });

  test.each([1, 126, 127, 128, 254, 255, 256, 400, 16_000])(
    'its name can have %i characters',
    (length) => {
      const name = (character: string) =>
        Buffer.concat([Buffer.from([0x41]), stringLength(length), Buffer.alloc(length, character)]);
      expect(repairBlock(name('|'))).toEqual(name('_'));
    },
  );

  test('each of several is repaired, because the table remembers each', () => {
    const block = (...values: string[]) => Buffer.concat(values.map(authority));
    expect(repairBlock(block('a|b', 'c', 'd|'))).toEqual(block('a_b', 'c', 'd_'));
  });

  test('it is found if its name is written out, too', () => {
    for (const first of [0x40, 0x00, 0x10]) {
      const plain = (value: string) =>
        Buffer.concat([Buffer.from([first]), literal(':authority', value).subarray(1)]);
      expect(repairBlock(plain('a|b'))).toEqual(plain('a_b'));
      const coded = (value: string) =>
        Buffer.concat([Buffer.from([first]), CODED_NAME, authority(value).subarray(1)]);
      expect(repairBlock(coded('a|b'))).toEqual(coded('a_b'));
      expect(
        repairBlock(
          Buffer.concat([Buffer.from([first]), literal(':authoritz', 'a|b').subarray(1)]),
        ),
      ).toBe(undefined);
    }
  });

  test('without the table it is found too', () => {
    for (const first of [0x01, 0x11]) {
      const block = (value: string) =>
        Buffer.concat([Buffer.from([first]), authority(value).subarray(1)]);
      expect(repairBlock(block('a b'))).toEqual(block('a_b'));
    }
  });
});

describe('on a connection', () => {
  const odd = headers(Buffer.concat([POST, authority('a|b')]));
  const repairedOdd = headers(Buffer.concat([POST, authority('a_b')]));
  const sent = start(
    frame(Type.settings, 0, 0),
    headers(FROM_ENVOY),
    odd,
    frame(Type.ping, 0, 0, Buffer.alloc(8)),
    odd,
  );

  test('every request is repaired', () => {
    const repair = new AuthorityRepair();
    const got = repair.feed(sent);
    expect(got.includes(authority(REPAIRED))).toBe(true);
    expect(got.includes('|')).toBe(false);
    expect(got.subarray(-repairedOdd.length)).toEqual(repairedOdd);
  });

  test('it does not matter how the bytes arrive', () => {
    const whole = new AuthorityRepair().feed(sent);
    const random = new Random(7);
    for (let round = 0; round < 200; round++) {
      const repair = new AuthorityRepair();
      const got: Buffer[] = [];
      for (let at = 0; at < sent.length; ) {
        const end = at + 1 + random.below(round);
        got.push(Buffer.from(repair.feed(sent.subarray(at, end))));
        at = end;
      }
      expect(Buffer.concat(got)).toEqual(whole);
    }
  });

  test('a priority before the block is kept', () => {
    const of = (value: string) =>
      headers(Buffer.concat([Buffer.alloc(5, 1), authority(value)]), END_HEADERS | PRIORITY);
    expect(new AuthorityRepair().feed(start(of('a|b')))).toEqual(start(of('a_b')));
  });

  test('padding is dropped', () => {
    for (const flags of [0, PRIORITY]) {
      const priority = Buffer.alloc(flags === 0 ? 0 : 5, 1);
      const padded = [Buffer.from([3]), priority, authority('a|b'), Buffer.alloc(3)];
      expect(
        new AuthorityRepair().feed(
          start(headers(Buffer.concat(padded), END_HEADERS | PADDED | flags)),
        ),
      ).toEqual(start(headers(Buffer.concat([priority, authority('a_b')]), END_HEADERS | flags)));
    }
  });

  test('headers of several frames are repaired as one block', () => {
    const block = Buffer.concat([POST, authority('a|b'), POST]);
    for (let cut = 0; cut <= block.length; cut++) {
      const bytes = start(
        headers(block.subarray(0, cut), 0),
        frame(Type.continuation, 0, 1, block.subarray(cut, cut + 1)),
        frame(Type.continuation, END_HEADERS, 1, block.subarray(cut + 1)),
        odd,
      );
      expect(new AuthorityRepair().feed(bytes)).toEqual(
        start(headers(Buffer.concat([POST, authority('a_b'), POST])), repairedOdd),
      );
    }
  });

  test('a block that gets too long for a frame goes on in the next one', () => {
    const before = Buffer.alloc(16_384 - FROM_ENVOY.length, 0x83);
    const block = repairBlock(Buffer.concat([before, FROM_ENVOY])) as Buffer;
    expect(block.length).toBeGreaterThan(16_384);
    expect(new AuthorityRepair().feed(start(headers(Buffer.concat([before, FROM_ENVOY]))))).toEqual(
      start(
        headers(block.subarray(0, 16_384), 0),
        frame(Type.continuation, END_HEADERS, 1, block.subarray(16_384)),
      ),
    );
  });

  test.each([
    [
      'headers of more than 16 KiB',
      [headers(Buffer.concat([authority('a|b'), Buffer.alloc(16_384)]))],
    ],
    ['headers that another frame interrupts', [headers(authority('a|b'), 0), odd]],
    [
      'headers of ten frames',
      [
        headers(authority('a|b'), 0),
        ...Array.from({ length: 9 }, () => frame(Type.continuation, 0, 1)),
      ],
    ],
  ])('%s, for which Node closes the connection, are passed on as they are', (_, frames) => {
    const bytes = start(...frames, odd);
    expect(new AuthorityRepair().feed(bytes)).toEqual(bytes);
  });

  test('other frames are passed on before they are complete', () => {
    const repair = new AuthorityRepair();
    const data = frame(Type.data, 0, 1, Buffer.alloc(100_000, 1));
    expect(repair.feed(start(data.subarray(0, 50)))).toEqual(start(data.subarray(0, 50)));
    expect(repair.feed(Buffer.concat([data.subarray(50), odd]))).toEqual(
      Buffer.concat([data.subarray(50), repairedOdd]),
    );
  });

  test('random bytes do no harm', () => {
    const random = new Random(11);
    for (let round = 0; round < 2_000; round++) {
      const bytes = Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
      const block = headers(bytes);
      const got = new AuthorityRepair().feed(start(block));
      expect(got.length).toBeGreaterThanOrEqual(start(block).length);
      for (const flags of [0, PADDED, PADDED | PRIORITY | END_HEADERS]) {
        const odd = start(headers(bytes, flags), bytes);
        expect(new AuthorityRepair().feed(odd).length).toBeLessThanOrEqual(2 * odd.length + 127);
      }
      const repair = new AuthorityRepair();
      expect(Buffer.concat([repair.feed(bytes), repair.feed(bytes)]).length).toBeLessThanOrEqual(
        2 * bytes.length + 127,
      );
    }
  });
});
