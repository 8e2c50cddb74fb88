/** Tokens come back as they were, and nobody without the key can make or change one. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listedKeys } from '../../../../src/gateway/settlement/signing-keys.ts';
import {
  LONGEST_TOKEN,
  openToken,
  sealToken,
  type TokenBody,
  type TokenPart,
  tokenLength,
} from '../../../../src/gateway/settlement/token.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { ALICE, partition } from '../../../support/settling.ts';

const KEYS = listedKeys(['a key of this test, at least 32 characters']);
const OTHER_KEYS = listedKeys(['a key of somebody, at least 32 characters']);

const part = (parts: Partial<TokenPart> = {}): TokenPart => ({
  digest: '\x00\xffabcd',
  form: 0,
  partition: ALICE,
  units: 500,
  momentMs: NOON_MS,
  ...parts,
});
const BODY: TokenBody = {
  endsMs: NOON_MS + 900_000,
  gateway: '\x00\x01\x02\xfd\xfe\xff',
  serial: 2 ** 32 - 1,
  mode: 'enforced',
  parts: [part(), part({ form: 56, partition: partition('i', 'network') })],
};
const TOKEN = sealToken(BODY, KEYS);
/** What comes before the partitions. */
const HEAD_BYTES = 26;
const bytesOf = (token: string) => Buffer.from(token, 'base64url');

/** Signs what somebody else wrote. Only headgate has the key. */
function signed(bytes: Buffer): string {
  const mac = createHmac('sha256', KEYS.current().key).update(bytes).digest().subarray(0, 16);
  return Buffer.concat([bytes, mac]).toString('base64url');
}

describe('a token', () => {
  test('says what was reserved', () => {
    expect(openToken(TOKEN, KEYS)).toEqual({ ...BODY, id: expect.any(String) });
  });

  test('has an id that no other token has', () => {
    const idOf = (body: TokenBody) => {
      const opened = openToken(sealToken(body, KEYS), KEYS);
      return typeof opened === 'string' ? opened : opened.id;
    };
    const other = { ...BODY, parts: [part({ momentMs: NOON_MS + 1 })] };
    expect(idOf(BODY)).toMatch(/^[\w-]{16}$/);
    expect(idOf(BODY)).toBe(idOf(BODY));
    expect(idOf(other)).not.toBe(idOf(BODY));
    expect(idOf({ ...BODY, serial: 7 })).not.toBe(idOf(BODY));
  });

  test('comes back whatever was reserved', () => {
    const digestText = fc.string({
      unit: fc.constantFrom(...'abcXYZ019-_'),
      minLength: 22,
      maxLength: 22,
    });
    const anyPart = fc.record({
      digest: fc
        .uint8Array({ minLength: 6, maxLength: 6 })
        .map((bytes) => Buffer.from(bytes).toString('latin1')),
      form: fc.nat(255),
      partition: fc.oneof(
        fc.constant('g'),
        fc
          .tuple(fc.constantFrom(...'cdhikru'), digestText)
          .map(([kind, text]) => `${kind}.${text}`),
      ),
      units: fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1), fc.maxSafeInteger().map(Math.abs)),
      momentMs: fc.integer({ min: NOON_MS, max: NOON_MS + 1_000 }),
    });
    const body = fc.record({
      endsMs: fc.constant(NOON_MS + 900_000),
      gateway: fc.constant(BODY.gateway),
      serial: fc.nat(2 ** 32 - 1),
      mode: fc.constantFrom('enforced' as const, 'local' as const),
      parts: fc.array(anyPart, { minLength: 1, maxLength: 8 }),
    });
    fc.assert(
      fc.property(body, (given) => {
        const moments = given.parts.map(({ momentMs }) => momentMs);
        const seconds = Math.ceil((given.endsMs - Math.min(...moments)) / 1000);
        const expected = { ...given, endsMs: Math.min(...moments) + 1000 * seconds };
        expect(openToken(sealToken(given, KEYS), KEYS)).toEqual({
          ...expected,
          id: expect.any(String),
        });
      }),
    );
  });

  test('keeps the digest of every partition to the last bit', () => {
    for (const last of ['A', 'B', '_', '-', '9']) {
      const name = `k.${'z'.repeat(21)}${last}`;
      const opened = openToken(
        sealToken({ ...BODY, parts: [part({ partition: name })] }, KEYS),
        KEYS,
      );
      expect(opened).toMatchObject({ parts: [{ partition: name }] });
    }
  });

  test('names a partition once, however many limits count it', () => {
    const limits = Array.from({ length: 20 }, (_, i) => part({ digest: `limit${i % 10}` }));
    expect(tokenLength(limits) - tokenLength([part()])).toBeLessThan((20 * 18 * 4) / 3);
  });

  test('has at most 600 characters: the last parts are left out', () => {
    const parts = Array.from({ length: 40 }, (_, i) =>
      part({ partition: partition('i', `n${i}`) }),
    );
    const token = sealToken({ ...BODY, parts }, KEYS);
    expect(tokenLength(parts)).toBeGreaterThan(LONGEST_TOKEN);
    expect(token.length).toBeLessThanOrEqual(LONGEST_TOKEN);
    const opened = openToken(token, KEYS);
    if (typeof opened === 'string') expect.unreachable();
    expect(opened.parts).toEqual(parts.slice(0, opened.parts.length));
    expect(opened.parts.length).toBeGreaterThan(15);
  });
});

describe('nobody forges a token', () => {
  test('by changing any bit', () => {
    const bytes = bytesOf(TOKEN);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(['forged', 'malformed']).toContain(openToken(changed.toString('base64url'), KEYS));
    }
  });

  test('by cutting or extending it', () => {
    for (let length = 0; length < TOKEN.length; length++) {
      expect(['forged', 'malformed']).toContain(openToken(TOKEN.slice(0, length), KEYS));
    }
    const bytes = bytesOf(TOKEN);
    for (let length = 1; length < bytes.length; length++) {
      const [start, end] = [bytes.subarray(0, length), bytes.subarray(length)];
      for (const cut of [start, end, Buffer.concat([start, Buffer.of(0), end])]) {
        expect(['forged', 'malformed']).toContain(openToken(cut.toString('base64url'), KEYS));
      }
    }
    expect(openToken(`${TOKEN}AAAA`, KEYS)).toBe('forged');
  });

  test('by spelling it in another way', () => {
    const { length } = TOKEN;
    const spelled = [
      `${TOKEN}=`,
      ` ${TOKEN}`,
      `${TOKEN}\n`,
      `${TOKEN.slice(0, 9)}.${TOKEN.slice(9)}`,
    ];
    if (length % 4 !== 0) {
      // Bits at the end that no byte uses.
      const last = TOKEN.slice(-1);
      for (const other of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
        if (other !== last) spelled.push(TOKEN.slice(0, -1) + other);
      }
    }
    for (const text of spelled) expect(['forged', 'malformed']).toContain(openToken(text, KEYS));
  });

  test('with another key, even under the id of the right one', () => {
    const forged = sealToken(BODY, OTHER_KEYS);
    expect(openToken(forged, KEYS)).toBe('forged');
    const bytes = bytesOf(forged);
    bytes.writeUInt32BE(KEYS.current().id, 1);
    expect(openToken(bytes.toString('base64url'), KEYS)).toBe('forged');
  });

  test('of the parts of two others', () => {
    const other = bytesOf(
      sealToken({ ...BODY, parts: [part({ units: 1 }), ...BODY.parts.slice(1)] }, KEYS),
    );
    const bytes = bytesOf(TOKEN);
    for (let at = 0; at < bytes.length; at++) {
      const mixed = Buffer.concat([bytes.subarray(0, at), other.subarray(at)]);
      const text = mixed.toString('base64url');
      if (mixed.equals(bytes) || mixed.equals(other)) continue;
      expect(['forged', 'malformed']).toContain(openToken(text, KEYS));
    }
  });

  test('that is garbage, of any length', () => {
    for (const text of [
      '',
      'A',
      'AQ',
      'x'.repeat(600),
      'x'.repeat(601),
      'x'.repeat(1e6),
      '\ud800',
    ]) {
      expect(openToken(text, KEYS)).toBe('malformed');
    }
    fc.assert(
      fc.property(fc.string({ maxLength: 700 }), (text) => {
        expect(['forged', 'malformed']).toContain(openToken(text, KEYS));
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 450 }), (bytes) => {
        const text = Buffer.concat([Buffer.of(1), bytes]).toString('base64url');
        expect(['forged', 'malformed']).toContain(openToken(text, KEYS));
      }),
    );
  });
});

describe('a token that another version of headgate signed', () => {
  test('is malformed', () => {
    const bytes = bytesOf(TOKEN).subarray(0, -16);
    bytes[0] = 2;
    expect(openToken(signed(bytes), KEYS)).toBe('malformed');
  });

  test('is malformed if it is cut, and costs no more than its length', () => {
    const bytes = bytesOf(TOKEN).subarray(0, -16);
    expect(openToken(signed(bytes), KEYS)).not.toBe('malformed');
    for (let length = HEAD_BYTES; length < bytes.length; length++) {
      expect(openToken(signed(bytes.subarray(0, length)), KEYS)).toSatisfy(
        (opened) => opened === 'malformed' || opened.parts.length < BODY.parts.length,
      );
    }
  });

  test('is malformed with units that never end, a mode or a partition that is unknown', () => {
    const head = bytesOf(TOKEN).subarray(0, HEAD_BYTES);
    const limit = Buffer.from('limit0');
    const endless = Buffer.concat([head, Buffer.of(0), limit, Buffer.alloc(200, 0xff)]);
    expect(openToken(signed(endless), KEYS)).toBe('malformed');
    const nowhere = Buffer.concat([head, Buffer.of(0), limit, Buffer.of(1, 0, 1, 0, 9)]);
    expect(openToken(signed(nowhere), KEYS)).toBe('malformed');
    const otherMode = bytesOf(TOKEN).subarray(0, -16);
    otherMode[HEAD_BYTES - 1] = 7;
    expect(openToken(signed(otherMode), KEYS)).toBe('malformed');
  });
});
