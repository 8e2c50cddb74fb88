/** Breaks a header block in a few places. */
import type { Random } from '../../../test/support/random.ts';

const MOST_CHANGES = 4;

export function mutated(random: Random, block: Buffer): Buffer {
  let bytes = block;
  for (let left = 1 + random.below(MOST_CHANGES); left > 0; left--) bytes = changed(random, bytes);
  return bytes;
}

function changed(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const some = (count: number) =>
    Buffer.from(Array.from({ length: random.below(count) }, () => random.below(256)));
  return random.oneOf([
    // It ends early.
    () => before,
    () => Buffer.concat([before, some(8), after]),
    () => Buffer.concat([before, some(8), after.subarray(1)]),
    () => Buffer.concat([before, after.subarray(1 + random.below(4))]),
    () => Buffer.concat([before, Buffer.from([0xff, 0xff, 0xff, 0xff]), after]),
    () => Buffer.concat([before, Buffer.from([random.oneOf([0x20, 0x3f, 0x80])]), after]),
    // One bit.
    () => {
      const flipped = Buffer.from([(after[0] ?? 0) ^ (1 << random.below(8))]);
      return Buffer.concat([before, flipped, after.subarray(1)]);
    },
    // Twice the same.
    () => Buffer.concat([before, after, after.subarray(0, 20)]),
  ])();
}
