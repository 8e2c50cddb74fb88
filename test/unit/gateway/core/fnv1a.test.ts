import { expect, test } from 'vitest';
import { fnv1a32 } from '../../../../src/gateway/core/fnv1a.ts';

test.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('the FNV-1a hash of "%s" is the published one', (text, hash) => {
  expect(fnv1a32(text)).toBe(hash);
});
