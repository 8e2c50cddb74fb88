import { createRequire } from 'node:module';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  MAX_DEPTH,
  MAX_ELEMENTS,
  MAX_REPLY_BYTES,
  ReplyDecoder,
  type ReplyListener,
} from '../../../../../../src/gateway/stores/redis/resp/reply-decoder.ts';
import { MAX_LINE_BYTES } from '../../../../../../src/gateway/stores/redis/resp/resp-line.ts';

interface OtherDecoder {
  new (config: ReplyListener & { getTypeMapping: () => unknown }): { write(chunk: Buffer): void };
}

const require = createRequire(import.meta.url);
const { Decoder } = require('ioredis/built/resp/decoder.js') as { Decoder: OtherDecoder };
/** By which ioredis makes the same of RESP2 and RESP3. */
const TYPES = {
  '+': Buffer,
  $: Buffer,
  '=': Buffer,
  '(': String,
  ',': Buffer,
  '#': Number,
  '%': Array,
  '~': Array,
};
const byCode = Object.fromEntries(
  Object.entries(TYPES).map(([type, as]) => [type.charCodeAt(0), as]),
);

function listening() {
  const heard: [kind: string, reply: unknown][] = [];
  const listener: ReplyListener = {
    onReply: (reply) => heard.push(['reply', reply]),
    onErrorReply: (error) => heard.push(['error', error.message]),
    onPush: (reply) => heard.push(['push', reply]),
  };
  return { heard, listener };
}

/** What is heard of these chunks, and the error that they end with. */
function decode(chunks: readonly Buffer[]) {
  const { heard, listener } = listening();
  const decoder = new ReplyDecoder(listener);
  for (const chunk of chunks) decoder.write(chunk);
  return heard;
}

const decodeText = (text: string) => decode([Buffer.from(text, 'latin1')]);

const line = fc.stringMatching(/^[ -~]{0,12}$/);
const blob = fc.stringMatching(/^[\r\n\0 -~]{0,12}$/);
const sized = (type: string, text: string) => `${type}${text.length}\r\n${text}\r\n`;
const simple = fc.oneof(
  fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }).map((number) => `:${number}\r\n`),
  fc.nat().map((number) => `:+${number}\r\n`),
  line.map((text) => `+${text}\r\n`),
  line.map((text) => `-${text}\r\n`),
  line.map((text) => `,${text}\r\n`),
  fc.bigInt().map((number) => `(${number}\r\n`),
  fc.constantFrom('_\r\n', '#t\r\n', '#f\r\n', '$-1\r\n', '*-1\r\n'),
  blob.map((text) => sized('$', text)),
  blob.map((text) => sized('!', text)),
  blob.map((text) => sized('=', `txt:${text}`)),
);
const list = (element: fc.Arbitrary<string>) =>
  fc.oneof(
    fc
      .tuple(fc.constantFrom('*', '~'), fc.array(element, { maxLength: 4 }))
      .map(([type, items]) => `${type}${items.length}\r\n${items.join('')}`),
    fc
      .array(fc.tuple(element, element), { maxLength: 3 })
      .map((pairs) => `%${pairs.length}\r\n${pairs.flat().join('')}`),
  );
const nested = fc.oneof(simple, list(fc.oneof(simple, list(fc.oneof(simple, list(simple))))));
const push = fc
  .array(nested, { maxLength: 3 })
  .map((items) => `>${items.length}\r\n${items.join('')}`);
const replies = fc.array(fc.oneof(nested, push), { minLength: 1, maxLength: 6 });

test('decodes replies as ioredis does, in chunks of any size', async () => {
  await fc.assert(
    fc.property(replies, fc.array(fc.nat(), { maxLength: 12 }), (sent, cuts) => {
      const bytes = Buffer.from(sent.join(''), 'latin1');
      const { heard, listener } = listening();
      new Decoder({ ...listener, getTypeMapping: () => byCode }).write(bytes);
      expect(decode([bytes])).toEqual(heard);
      const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
      const chunks = [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
      expect(decode(chunks)).toEqual(heard);
      expect(decode(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(heard);
    }),
    { numRuns: 300 },
  );
});

const integers = fc
  .array(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), { maxLength: 30 })
  .map((all) => `*${all.length}\r\n${all.map((each) => `:${each}\r\n`).join('')}`);
const scriptReplies = fc.array(fc.oneof({ weight: 4, arbitrary: integers }, nested), {
  minLength: 1,
  maxLength: 8,
});

/** What is heard, and whether the decoder gave up. */
function outcomeOf(chunks: readonly Buffer[]) {
  const { heard, listener } = listening();
  const decoder = new ReplyDecoder(listener);
  try {
    for (const chunk of chunks) decoder.write(chunk);
    return { heard, isBroken: false };
  } catch (error) {
    expect(error).toSatisfy((e) => e instanceof SyntaxError || e instanceof RangeError);
    return { heard, isBroken: true };
  }
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
}

const cutsOfAny = fc.array(fc.nat(), { maxLength: 12 });
const FUZZ = { numRuns: 500, seed: 20_261_126 } as const;

test('lists of integers are read in one pass, as they are read line by line', async () => {
  await fc.assert(
    fc.property(scriptReplies, cutsOfAny, (sent, cuts) => {
      const bytes = Buffer.from(sent.join(''), 'latin1');
      const whole = decode([bytes]);
      expect(whole).toHaveLength(sent.length);
      expect(decode(cutAt(bytes, cuts))).toEqual(whole);
      // No list arrives as a whole.
      expect(decode(Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(whole);
    }),
    FUZZ,
  );
});

test('changed bytes give replies or an error, however they arrive', async () => {
  const change = fc.tuple(fc.nat(), fc.constantFrom('set', 'drop', 'double'), fc.nat(255));
  const changes = fc.array(change, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.property(scriptReplies, changes, cutsOfAny, (sent, made, cuts) => {
      let bytes = Buffer.from(sent.join(''), 'latin1');
      for (const [where, how, byte] of made) {
        const at = where % bytes.length;
        const kept = how === 'set' ? [byte] : how === 'drop' ? [] : [bytes[at] ?? 0, byte];
        const changed = [bytes.subarray(0, at), Buffer.from(kept), bytes.subarray(at + 1)];
        bytes = Buffer.concat([...changed, Buffer.from(':1\r\n')]);
      }
      const whole = outcomeOf([bytes]);
      expect(outcomeOf(cutAt(bytes, cuts))).toEqual(whole);
      expect(outcomeOf(Array.from(bytes, (each) => Buffer.from([each])))).toEqual(whole);
    }),
    FUZZ,
  );
});

test('decodes strings that are longer than a chunk', () => {
  const text = 'x'.repeat(1_000_000);
  const bytes = Buffer.from(`*2\r\n${sized('$', text)}:1\r\n`);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 999) }, (_, i) =>
    bytes.subarray(999 * i, 999 * (i + 1)),
  );
  expect(decode(chunks)).toEqual([['reply', [Buffer.from(text), 1]]]);
});

test.each([
  ['an array', `*${MAX_ELEMENTS + 1}\r\n`],
  ['a set', `~${MAX_ELEMENTS + 1}\r\n`],
  ['a map', `%${MAX_ELEMENTS / 2 + 1}\r\n`],
  ['a push', `>${MAX_ELEMENTS + 1}\r\n`],
  ['an array of 30,000,000', '*30000000\r\n'],
  ['an array of more than any number', `*${'9'.repeat(400)}\r\n`],
  [
    'arrays in an array',
    `*2\r\n*${MAX_ELEMENTS - 2}\r\n${':1\r\n'.repeat(MAX_ELEMENTS - 2)}*1\r\n`,
  ],
  ['arrays of arrays', `*60000\r\n*60000\r\n`],
])('refuses a reply that claims too many elements: %s', (_, text) => {
  expect(() => decodeText(text)).toThrow(`more than ${MAX_ELEMENTS} elements`);
});

test.each([
  ['a string', `$${MAX_REPLY_BYTES + 1}\r\n`],
  ['an error', `!${MAX_REPLY_BYTES + 1}\r\n`],
  ['a text', `=${MAX_REPLY_BYTES + 1}\r\n`],
  ['a string of more than any number', `$${'9'.repeat(400)}\r\n`],
  [
    'two strings',
    `*2\r\n${sized('$', 'x'.repeat(MAX_REPLY_BYTES / 2))}$${MAX_REPLY_BYTES / 2}\r\n`,
  ],
])('refuses a reply that claims too many bytes: %s', (_, text) => {
  expect(() => decodeText(text)).toThrow(`more than ${MAX_REPLY_BYTES} bytes`);
});

test('counts lines among the bytes of a reply', () => {
  const lines = `+${'x'.repeat(MAX_LINE_BYTES - 3)}\r\n`.repeat(1_026);
  expect(() => decodeText(`*1026\r\n${lines}`)).toThrow(`more than ${MAX_REPLY_BYTES} bytes`);
});

test.each(['*1\r\n', '~1\r\n', '%1\r\n+\r\n'])('refuses lists that are too deep: %j', (head) => {
  expect(() => decodeText(`${head.repeat(MAX_DEPTH)}:1\r\n`)).not.toThrow();
  expect(() => decodeText(head.repeat(MAX_DEPTH + 1))).toThrow(`more than ${MAX_DEPTH} levels`);
});

test.each(['+', '-', ':', ',', '(', '$', '*', '>', '_', '#', 'x'])(
  'refuses a line that does not end: %s',
  (type) => {
    const chunks = [
      Buffer.from(type),
      ...Array.from({ length: 1_700 }, () => Buffer.alloc(10, '1')),
    ];
    expect(() => decode(chunks)).toThrow(`a line of more than ${MAX_LINE_BYTES} bytes`);
  },
);

test('accepts replies up to the bounds, one after another', () => {
  const reply = `*${MAX_ELEMENTS}\r\n${':1\r\n'.repeat(MAX_ELEMENTS)}`;
  const string = sized('$', 'x'.repeat(MAX_REPLY_BYTES - 16));
  expect(decodeText(`${reply}${string}${reply}${string}`).map(([kind]) => kind)).toEqual(
    Array(4).fill('reply'),
  );
});

test.each([
  ...['', 'x', 'HTTP/1.1 400', '|1', ';1', '.', '?'].map((text) => `${text}\r\n`),
  ...[':', ':x', ':1x', ':1.5', ':--1', ':+', ':1e5', ': 1'].map((text) => `${text}\r\n`),
  ...['*', '*?', '*-2', '*1x', '$', '$?', '$-5', '$0x1', '%-2', '~+1'].map((text) => `${text}\r\n`),
  ...['#', '#x', '#tt', '_x'].map((text) => `${text}\r\n`),
  '+a\rb\r\n',
  '$1\r\nab\r\n',
  '$1\r\na\n\r',
  '=3\r\ntxt\r\n',
  '*1\r\n>1\r\n:1\r\n',
  '*1\r\nx\r\n',
])('refuses what is not RESP: %j', (text) => {
  expect(() => decodeText(text)).toThrow('Redis sent');
  const bytes = Array.from(Buffer.from(text), (byte) => Buffer.from([byte]));
  expect(() => decode(bytes)).toThrow('Redis sent');
});

test('ignores a connection after an error', () => {
  const { heard, listener } = listening();
  const decoder = new ReplyDecoder(listener);
  expect(() => decoder.write(Buffer.from(':1\r\nx\r\n:2\r\n'))).toThrow('not RESP');
  decoder.write(Buffer.from(':3\r\n'));
  expect(heard).toEqual([['reply', 1]]);
});

test('an announced length reserves no memory', () => {
  const before = process.memoryUsage();
  const decoders = Array.from({ length: 100 }, () => {
    const decoder = new ReplyDecoder(listening().listener);
    decoder.write(Buffer.from(`*2\r\n*${MAX_ELEMENTS - 2}\r\n$${MAX_REPLY_BYTES - 100}\r\nx`));
    return decoder;
  });
  const after = process.memoryUsage();
  expect(decoders).toHaveLength(100);
  // Each has a first piece of 64 KiB for its string; its claims would be 1.6 GiB together.
  expect(after.rss - before.rss).toBeLessThan(64 * 1_048_576);
});
