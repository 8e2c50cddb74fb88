/** Writes header blocks of HTTP/2, right ones and broken ones: https://www.rfc-editor.org/rfc/rfc7541 */
import { integer } from '../../../test/support/hpack.ts';
import type { Random } from '../../../test/support/random.ts';

/** The value is in latin1. */
export type Field = readonly [name: string, value: string];

/** Numbers of the static table with which clients often name a field. */
const NAMED: Readonly<Record<string, number>> = {
  ':authority': 1,
  ':method': 2,
  ':path': 4,
  ':scheme': 6,
  'content-type': 31,
  'user-agent': 58,
};
const WHOLE: Readonly<Record<string, number>> = {
  ':method GET': 2,
  ':method POST': 3,
  ':path /': 4,
  ':scheme http': 6,
  ':scheme https': 7,
};

const LITERAL = 0x00;
const NEVER_INDEXED = 0x10;
const INDEXED = 0x40;

export function block(random: Random, fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map((each) => field(random, each)));
}

function field(random: Random, [name, value]: Field): Buffer {
  const whole = WHOLE[`${name} ${value}`];
  if (whole !== undefined && random.next() < 0.7) return integer(0x80, 7, whole);
  const kind = random.oneOf([LITERAL, NEVER_INDEXED, INDEXED]);
  const bits = kind === INDEXED ? 6 : 4;
  const number = NAMED[name];
  const named =
    number !== undefined && random.next() < 0.7
      ? integer(kind, bits, number)
      : Buffer.concat([integer(kind, bits, 0), string(name)]);
  return Buffer.concat([named, string(value)]);
}

export function string(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([integer(0, 7, bytes.length), bytes]);
}

/** `:authority` with `outbound|8081||ratelimit.default.svc.cluster.local` in the Huffman code, as Envoy writes it. */
export const HUFFMAN_AUTHORITY = Buffer.from(
  '41a53da98cf6d527fc780f07fe7fcb0692d06a4c95e42ca3b684ae8ee45c945a8496c5e8390747',
  'hex',
);

/** Instructions in place of fields, most of them wrong. */
export function oddity(random: Random): Buffer {
  return random.oneOf([
    () => HUFFMAN_AUTHORITY,
    // The size of the dynamic table: at the start of a block it is allowed.
    () => integer(0x20, 5, random.oneOf([0, 1, 100, 4_096, 4_097, 2 ** 32])),
    () => integer(0x80, 7, random.oneOf([0, 1, 61, 62, 63, 127, 200, 2 ** 31])),
    () => Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
    // A length beyond the end of the block.
    () => Buffer.from([0x00, 0x7f, 0x61]),
    () => Buffer.from([0x41, 0x8f, 0xff, 0xff]),
    () => Buffer.from([0x00, 0x00, 0x00]),
    () => Buffer.from([0x00, 0x83, 0xff, 0xff, 0xff, 0x01, 0x61]),
    () => Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256))),
  ])();
}
