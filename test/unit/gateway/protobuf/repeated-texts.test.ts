import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RepeatedTexts } from '../../../../src/gateway/protobuf/reader.ts';

test('texts are what their bytes say, whichever texts came before', () => {
  const text = fc.oneof(
    // Few characters, so that texts repeat, and many have the same hash.
    fc.string({ unit: fc.constantFrom('a', 'b', '\u0000', '\u00ff'), maxLength: 6 }),
    fc.string({ unit: 'binary', maxLength: 40 }).map((it) => Buffer.from(it).toString('latin1')),
  );
  fc.assert(
    fc.property(fc.array(text, { minLength: 500, maxLength: 1_000 }), (texts) => {
      const repeated = new RepeatedTexts();
      const bytes = Buffer.from(texts.join(''), 'latin1');
      let start = 0;
      for (const expected of texts) {
        expect(repeated.latin1(bytes, start, start + expected.length)).toBe(expected);
        start += expected.length;
      }
    }),
    { numRuns: 20 },
  );
});

test('a text is decoded once', () => {
  const decoded: string[] = [];
  const bytes = Buffer.from('x-request-id');
  bytes.toString = (...range) => {
    const text = Buffer.prototype.toString.apply(bytes, range);
    decoded.push(text);
    return text;
  };
  const repeated = new RepeatedTexts();
  expect(repeated.latin1(bytes, 0, 12)).toBe('x-request-id');
  expect(repeated.latin1(bytes, 0, 12)).toBe('x-request-id');
  expect(decoded).toEqual(['x-request-id']);
});
