import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Words } from '../../../../../../src/gateway/stores/redis/counting-connection.ts';
import { commandOf } from '../../../../../../src/gateway/stores/redis/resp/command.ts';
import {
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
  TakeArguments,
} from '../../../../../../src/gateway/stores/redis/take-script.ts';
import { descriptorOf } from '../../../../../support/quotas.ts';
import { NOON_MS } from '../../../../../support/requests.ts';

/** The words of a command, as a server reads them: each by its length in bytes. */
function wordsIn(bytes: Buffer): string[] {
  let at = 0;
  const line = () => {
    const end = bytes.indexOf('\r\n', at);
    const text = bytes.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  const count = Number(line().slice(1));
  const words = Array.from({ length: count }, () => {
    const length = Number(line().slice(1));
    const word = bytes.toString('utf8', at, at + length);
    at += length;
    expect(line()).toBe('');
    return word;
  });
  expect(at).toBe(bytes.length);
  return words;
}

/** The words that a server reads. */
function sent(words: Words): string[] {
  const { text, encoding } = commandOf(words);
  return wordsIn(Buffer.from(text, encoding));
}

test('a command is a list of strings, each behind its length in bytes', () => {
  expect(commandOf(['ping']).text).toBe('*1\r\n$4\r\nping\r\n');
  expect(commandOf(['é', 7]).text).toBe('*2\r\n$2\r\né\r\n$1\r\n7\r\n');
  expect(sent(['', '\r\n', '😀'])).toEqual(['', '\r\n', '😀']);
});

const key = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('é', '\u0080', '\u007f', '\r\n$5\r\n', 'x'.repeat(20_000)),
);
const clocks = { ownMs: NOON_MS };

test('a take names the script, or has all of it, with the same keys and values', async () => {
  const take = fc.tuple(key, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 70 }));
  await fc.assert(
    fc.property(fc.array(take, { minLength: 1, maxLength: 40 }), (takes) => {
      const call = new TakeArguments();
      for (const [name, cost, limit] of takes)
        call.add([descriptorOf(name, { limit, windowMs: 1_000, cost })]);
      const keysAndValues = [...call.keys, ...call.values(clocks)];
      for (const script of [
        ['evalsha', TAKE_SCRIPT_SHA] as const,
        ['eval', TAKE_SCRIPT] as const,
      ]) {
        const words: Words = [...script, takes.length, ...keysAndValues];
        expect(sent(words)).toEqual(words.map(String));
      }
    }),
    { numRuns: 200 },
  );
});
