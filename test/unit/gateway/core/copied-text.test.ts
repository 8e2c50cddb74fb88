import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { copyOf } from '../../../../src/gateway/core/copied-text.ts';

test.each(['', '203.0.113.9', 'größer', '日本', '\ud800'])('%j is the same text', (text) => {
  expect(copyOf(text)).toBe(text);
});

test('the copy of a part does not keep the whole text', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const usedBytes = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = usedBytes();
  const parts = Array.from({ length: 1_000 }, (_, i) => {
    const header = Buffer.alloc(20_000, String(i)).toString('latin1');
    return copyOf(header.slice(0, 15));
  });
  expect(usedBytes() - before).toBeLessThan(5_000_000);
  expect(parts).toHaveLength(1_000);
});
