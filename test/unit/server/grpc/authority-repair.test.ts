/** Requests whose `:authority` is no host name, which Node would reset. */
import { describe, expect, test } from 'vitest';
import { AuthorityRepair } from '../../../../src/server/grpc/authority/authority-repair.ts';
import { repairBlock } from '../../../../src/server/grpc/authority/header-block.ts';
import { decodeHuffman } from '../../../../src/server/grpc/authority/huffman.ts';
import { frame, literal, PREFACE, Type } from '../../../support/http2-frames.ts';
import { Random } from '../../../support/random.ts';

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
const POST = Buffer.from([0x83]);
const headers = (block: Buffer, flags = END_HEADERS) => frame(Type.headers, flags, 1, block);
const start = (...frames: Buffer[]) => Buffer.concat([Buffer.from(PREFACE), ...frames]);

test('decodes the examples of RFC 7541, appendix C.4 and C.6', () => {
  const decode = (hex: string) => decodeHuffman(Buffer.from(hex, 'hex'));
  expect(decode('f1e3c2e5f23a6ba0ab90f4ff')).toBe('www.example.com');
  expect(decode('a8eb10649cbf')).toBe('no-cache');
  expect(decode('25a849e95bb8e8b4bf')).toBe('custom-value');
  expect(decode('d07abe941054d444a8200595040b8166e082a62d1bff')).toBe(
    'Mon, 21 Oct 2013 20:13:21 GMT',
  );
});

test('decodes no character with a longer code', () => {
  // A backslash: 7fff0, and ones.
  expect(decodeHuffman(Buffer.from('fffe1f', 'hex'))).toBe(undefined);
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
    [
      'one of more than 126 bytes',
      Buffer.concat([Buffer.from([0x41, 127, 0]), Buffer.alloc(127, '|')]),
    ],
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
    expect(repair).toMatchObject({ hasHeaders: true, hasRepaired: true });
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

  test.each([
    [
      'padded headers',
      headers(
        Buffer.concat([Buffer.from([1]), authority('a|b'), Buffer.alloc(1)]),
        END_HEADERS | PADDED,
      ),
    ],
    ['headers of several frames', headers(authority('a|b'), 0)],
    [
      'a frame that would get too long',
      headers(Buffer.concat([FROM_ENVOY, Buffer.alloc(16_384 - FROM_ENVOY.length, 0x83)])),
    ],
    ['a frame of more than 16 KiB', Buffer.concat([frame(0, 0, 1, Buffer.alloc(16_385)), odd])],
  ])('%s: nothing is changed', (_, bytes) => {
    const repair = new AuthorityRepair();
    expect(repair.feed(start(bytes))).toEqual(start(bytes));
  });

  test('random bytes do no harm', () => {
    const random = new Random(11);
    for (let round = 0; round < 2_000; round++) {
      const bytes = Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
      const block = headers(bytes);
      const got = new AuthorityRepair().feed(start(block));
      expect(got.length).toBeGreaterThanOrEqual(start(block).length);
      const repair = new AuthorityRepair();
      expect(Buffer.concat([repair.feed(bytes), repair.feed(bytes)]).length).toBeLessThanOrEqual(
        2 * bytes.length + 127,
      );
    }
  });
});
