/** Whole lines, however the bytes came. */
import { expect, test } from 'vitest';
import { LineCutter, MAX_LINE_BYTES } from '../../../../../src/cli/evidence/reading/line-cutter.ts';

function cutterOf(...pieces: string[]): LineCutter {
  const cutter = new LineCutter();
  for (const piece of pieces) cutter.add(Buffer.from(piece));
  return cutter;
}

test('it cuts at the first line break after so many bytes', () => {
  const cutter = cutterOf('one\nt', 'wo\nthr', 'ee');
  expect(cutter.take(1).toString()).toBe('one\n');
  expect(cutter.take(4).toString()).toBe('two\n');
  expect(cutter.takeRest().toString()).toBe('three');
  expect(cutter.takeRest().toString()).toBe('');
  expect(cutter.hasDropped).toBe(false);
});

test('a line break at the very byte counts', () => {
  expect(cutterOf('abc\ndef\n').take(4).toString()).toBe('abc\n');
  expect(cutterOf('abc\ndef\n').take(5).toString()).toBe('abc\ndef\n');
});

test('it knows where to cut as soon as a line break is there', () => {
  const cutter = cutterOf('abc');
  expect(cutter.has(1)).toBe(false);
  cutter.add(Buffer.from('\n'));
  expect([cutter.has(1), cutter.has(4), cutter.has(5)]).toEqual([true, true, false]);
  cutter.take(1);
  expect(cutter.has(1)).toBe(false);
});

test('a line of the longest length is kept, and one byte more is cut', () => {
  const longest = 'a'.repeat(MAX_LINE_BYTES);
  const kept = cutterOf(longest);
  expect(kept.hasDropped).toBe(false);
  const cut = cutterOf(`${longest}a`);
  expect(cut.hasDropped).toBe(true);
  expect(kept.takeRest()).toHaveLength(MAX_LINE_BYTES);
  expect(cut.takeRest()).toHaveLength(MAX_LINE_BYTES + 1);
});

test('the rest of a line that was cut is skipped, up to its end, in pieces', () => {
  const cutter = cutterOf('a'.repeat(MAX_LINE_BYTES + 9));
  cutter.add(Buffer.from('bbb'));
  cutter.add(Buffer.from('ccc\nnext\n'));
  cutter.add(Buffer.from('and\n'));
  const text = cutter.takeRest().toString();
  expect(text).toBe(`${'a'.repeat(MAX_LINE_BYTES + 1)}\nnext\nand\n`);
});

test('after a line that was cut, the next long one is cut, too', () => {
  const cutter = cutterOf('a'.repeat(MAX_LINE_BYTES + 9), '\n');
  cutter.take(1);
  cutter.add(Buffer.from('short'));
  cutter.add(Buffer.from(' line\nrest'));
  expect(cutter.take(1).toString()).toBe('short line\n');
  expect(cutter.takeRest().toString()).toBe('rest');
});

test('with a long line after it, it cuts before that line', () => {
  const cutter = cutterOf(`first\n${'a'.repeat(MAX_LINE_BYTES + 8)}\n`);
  expect(cutter.has(8)).toBe(true);
  expect(cutter.take(8).toString()).toBe('first\n');
});

test('NULs at the beginning are dropped, and later ones are not', () => {
  const cutter = cutterOf('\0\0', '\0one\n', '\0two\n');
  expect(cutter.hasDropped).toBe(true);
  expect(cutter.takeRest().toString()).toBe('one\n\0two\n');
  const within = cutterOf('o\0ne\n');
  expect([within.hasDropped, within.takeRest().toString()]).toEqual([false, 'o\0ne\n']);
});
