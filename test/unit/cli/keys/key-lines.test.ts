import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { keyBatches } from '../../../../src/cli/keys/key-lines.ts';

const sha256 = (text: string) => hash('sha256', text, 'hex');
const line = (fields: object) =>
  `${JSON.stringify({ id: 'acme', sha256: sha256('a'), ...fields })}\n`;

/** The bytes come in chunks of this size. */
async function* chunks(text: string | Buffer, size = 7) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Buffer, size?: number) {
  const mistakes: [line: number, message: string][] = [];
  const batches = [];
  for await (const batch of keyBatches(chunks(text, size), (...mistake) => mistakes.push(mistake)))
    batches.push(batch);
  return { batches, mistakes };
}

test.each([1, 7, 100_000])(
  'lines are read whole, however %d bytes at a time cut them',
  async (size) => {
    const text = `\ufeff${line({ plan: 'pro' })}\r\n\n  ${line({ id: 'Zoë', plan: null }).trim()}`;
    const { batches, mistakes } = await read(text, size);
    expect(mistakes).toEqual([]);
    expect(batches).toEqual([
      [
        { number: 1, key: { id: 'acme', sha256: sha256('a'), plan: 'pro' } },
        { number: 4, key: { id: 'Zoë', sha256: sha256('a'), plan: null } },
      ],
    ]);
  },
);

test('a line with a mistake is named by its number, and the others are read', async () => {
  const secret = 'hg_a-key-in-plain-text';
  const lines = [
    line({}),
    `{"id": "acme", "key": "${secret}"}\n`,
    `${secret}\n`,
    '[1]\n',
    'null\n',
    line({ sha256: secret }),
    line({ id: 'a\u0000b' }),
    line({ comment: 'x'.repeat(20_000) }),
    line({ id: 'last' }),
  ];
  const { batches, mistakes } = await read(lines.join(''));
  expect(batches.flat().map(({ number }) => number)).toEqual([1, 9]);
  expect(mistakes).toEqual([
    [2, 'sha256: is missing; key: is not known'],
    [3, expect.stringMatching(/^is no JSON object/)],
    [4, 'must be an object'],
    [5, 'must be an object'],
    [6, expect.stringMatching(/^sha256: must be the SHA-256/)],
    [7, 'id: must not contain control characters'],
    [8, 'is longer than 16384 bytes'],
  ]);
  expect(JSON.stringify(mistakes)).not.toContain(secret);
});

test('bytes that are no UTF-8 are a mistake', async () => {
  const bytes = Buffer.concat([Buffer.from('{"id": "'), Buffer.from([0xff]), Buffer.from('"}\n')]);
  const { mistakes } = await read(bytes);
  expect(mistakes).toEqual([[1, expect.stringMatching(/^is no JSON object/)]]);
});

test('a batch has at most 500 keys, and fits in the body of a call', async () => {
  const short = await read(
    Array.from({ length: 1_201 }, (_, i) => line({ id: `c${i}` })).join(''),
    65_536,
  );
  expect(short.batches.map((batch) => batch.length)).toEqual([500, 500, 201]);
  const wide = line({ id: '字'.repeat(64), comment: '"字'.repeat(100) });
  const long = await read(wide.repeat(1_000), 65_536);
  expect(long.batches.flat()).toHaveLength(1_000);
  for (const batch of long.batches)
    expect(Buffer.byteLength(JSON.stringify(batch.map(({ key }) => key)))).toBeLessThan(250_000);
});
