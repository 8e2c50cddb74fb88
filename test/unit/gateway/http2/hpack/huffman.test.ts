/** Strings in the Huffman code of RFC 7541, appendix B. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHuffman } from '../../../../../src/gateway/http2/hpack/huffman.ts';

const decode = (bytes: Buffer) => decodeHuffman(bytes, 0, bytes.length);

/** Bytes with these bits. Spaces are of no account. */
function ofBits(spaced: string): Buffer {
  const bits = spaced.replaceAll(' ', '');
  const bytes = bits.match(/.{8}/g) ?? [];
  if (8 * bytes.length !== bits.length) throw new Error('no whole bytes');
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}

/** The bytes 0 to 255 in their order, as Python's library "hpack" writes them. */
const ALL_BYTES = [
  '/8f//Y///+L///4////k///+X///5v///n///+j//+r////z///6f///q////9///+v///7P///t///+7///7////w//',
  '//H///8v////v///z////T///9f///2////f///+P///5////r///+1P4/n/r/yr8f6/r+/n/f0suwAImWm3HXn7n3//',
  'IP+/8/9Q3b1/BhxY8mXNn0adWvZt3b+HHl+c/3/3//w/+f/kX/9HGSQss05unWimo9faxCbe/jz69//7/n/7/9////z/',
  '/m//9L//n//6P//T//9T//1f//s//+t//9r//7f//3P//u///e///r//+////Z///b//6///4P//7v//w///i///H//+',
  'T//uf/+x//+X//2f//zf//n///v//9r//u//9P//t//+5//+j//9P//e///V//7v//vf//4f/9///3///1///s//8H//',
  'h//+D//xf//t//+H//93//7//+r//4v//j//+T//+H//y///N///H///g///4f/+v//j//8///8v//o///2f//8X///H',
  '///yf//97///v///8v//+P//+3//l//4///+b///wf//+H///n///8X//+X//k//8v///R///0////7///4////J///5',
  'f/+z///P//t//83//0//+f//0f//z//+r//6///93//+////T///X///q///p///1///+b///s///7f///P///6P///T',
  '///6v///X////3///s///9v///u///9////w///7vw==',
].join('');

test('every byte has the code of appendix B', () => {
  const all = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));
  expect(decode(Buffer.from(ALL_BYTES, 'base64'))).toBe(all);
});

test.each([
  ['a 5 bit code', '00011', 'a'],
  ['a 6 bit code', '010100', ' '],
  ['a 7 bit code', '1111011', 'z'],
  ['an 8 bit code', '11111000', '&'],
  ['a 10 bit code', '1111111000', '!'],
  ['a 15 bit code', '111111111111100', '<'],
  ['a 19 bit code', '1111111111111110000', '\\'],
  ['a 30 bit code', '111111111111111111111111111100', '\n'],
])('%s is read wherever it begins in a byte', (_, code, text) => {
  for (let before = 0; before < 8; before++) {
    const bits = '00000'.repeat(before) + code;
    const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
    expect(decode(ofBits(padded))).toBe('0'.repeat(before) + text);
  }
});

test('an empty string has no bytes', () => {
  expect(decode(Buffer.alloc(0))).toBe('');
});

test('a long code and a short one may share the last byte', () => {
  expect(decode(ofBits('1111111000 00000 1'))).toBe('!0');
  expect(decode(ofBits('00000 00000 00000 1111111000 00000 11'))).toBe('000!0');
});

describe('a string is no Huffman code', () => {
  test.each([
    ['filled up with 0', '00011000'],
    ['filled up with 1 and a 0', '00011110'],
    ['filled up with a 0 and 1', '00011011'],
    ['one whole byte of 1', '11111111'],
    ['eight bits of 1 after a code', '11111000 11111111'],
    ['more than seven bits of 1 over two bytes', '00011111 11111111'],
    ['the code for the end', `${'1'.repeat(30)} 11`],
    ['the code for the end within', `${'1'.repeat(30)} 00011 11111`],
    ['a code that is cut off', '11111110'],
    ['a long code that is cut off', '11111111 11111110'],
  ])('%s', (_, bits) => {
    expect(decode(ofBits(bits))).toBeUndefined();
  });
});

test.each([0, 1, 2, 3, 4, 5, 6, 7])('%i bits of 1 may fill up a string', (count) => {
  // So many codes of five bits leave so many bits of the last byte.
  const codes = (3 * count) % 8;
  const bits = `${'00011'.repeat(codes)} ${'1'.repeat(count)}`;
  expect(decode(ofBits(bits))).toBe('a'.repeat(codes));
});

test('only the given bytes are read', () => {
  const bytes = ofBits('00000000 00011111 00000000');
  expect(decodeHuffman(bytes, 1, 2)).toBe('a');
});

test('strings of any length are read', () => {
  fc.assert(
    fc.property(fc.nat(9_000), (length) => {
      const bits = '00011'.repeat(length);
      const text = decode(ofBits(bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')));
      expect(text).toBe('a'.repeat(length));
    }),
    { numRuns: 30 },
  );
});
