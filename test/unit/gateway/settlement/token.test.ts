/** Tokens come back as they were, and nobody without the key can make or change one. */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digits, varint } from '../../../../src/gateway/settlement/digits.ts';
import { listedKeys } from '../../../../src/gateway/settlement/signing-keys.ts';
import {
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
  name: 'A_-limitAA',
  partition: ALICE,
  units: 500,
  momentMs: NOON_MS,
  ...parts,
});
const BODY: TokenBody = {
  endsMs: NOON_MS + 900_000,
  gateway: 'AB_-z019',
  serial: 2 ** 32 - 1,
  mode: 'enforced',
  parts: [part(), part({ name: 'A_-limitA4', partition: partition('i', 'network') })],
};
const TOKEN = sealToken(BODY, KEYS);
const SIGNED = TOKEN.slice(0, -22);
/** What comes before the partitions. */
const HEAD = TOKEN.slice(0, 32);
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Signs what somebody else wrote. Only headgate has the key. */
function signed(text: string): string {
  const mac = createHmac('sha256', KEYS.current().key).update(text).digest('base64url');
  return text + mac.slice(0, 22);
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
    const text = (length: number) =>
      fc.string({ unit: fc.constantFrom(...DIGITS), minLength: length, maxLength: length });
    const anyPart = fc.record({
      name: text(10),
      partition: fc.oneof(
        fc.constant('g'),
        fc
          .tuple(fc.constantFrom(...'cdhikru'), text(22))
          .map(([kind, digest]) => `${kind}.${digest}`),
      ),
      units: fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1), fc.maxSafeInteger().map(Math.abs)),
      momentMs: fc.integer({ min: NOON_MS, max: NOON_MS + 1_000 }),
    });
    const body = fc.record({
      endsMs: fc.constant(NOON_MS + 900_000),
      gateway: fc.constant(BODY.gateway),
      serial: fc.nat(2 ** 32 - 1),
      mode: fc.constantFrom('enforced' as const, 'local' as const),
      parts: fc.array(anyPart, { minLength: 1, maxLength: 80 }),
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
    const limits = Array.from({ length: 20 }, (_, i) => part({ name: `limit00${i % 10}AA` }));
    expect(tokenLength(limits) - tokenLength([part()])).toBeLessThan(20 * 23);
  });

  test('names a moment once for each partition, however many limits it has', () => {
    const partsAt = (momentMs: number) =>
      Array.from({ length: 20 }, (_, i) => part({ name: `limit0${10 + i}AA`, momentMs }));
    const one = partsAt(NOON_MS);
    const [, ...later] = partsAt(NOON_MS + 7_000);
    const longer = tokenLength([...one, ...later]) - tokenLength([...one, ...one.slice(1)]);
    expect(longer).toBe(5);
  });

  test('has all parts, however many these are', () => {
    const parts = Array.from({ length: 300 }, (_, i) =>
      part({ partition: partition('i', `n${i}`), momentMs: NOON_MS + i }),
    );
    const token = sealToken({ ...BODY, parts }, KEYS);
    expect(token).toHaveLength(tokenLength(parts));
    expect(openToken(token, KEYS)).toMatchObject({ parts });
  });

  test('says that its units were taken four hours later at most', () => {
    const [first, wrong] = [part(), part({ momentMs: NOON_MS + 86_400_000 })];
    expect(openToken(sealToken({ ...BODY, parts: [first, wrong] }, KEYS), KEYS)).toMatchObject({
      parts: [first, { ...wrong, momentMs: NOON_MS + 64 ** 4 - 1 }],
    });
  });
});

describe('nobody forges a token', () => {
  test('by changing any character', () => {
    for (let at = 0; at < TOKEN.length; at++) {
      for (const other of DIGITS) {
        if (other === TOKEN[at]) continue;
        const changed = TOKEN.slice(0, at) + other + TOKEN.slice(at + 1);
        expect(['forged', 'malformed']).toContain(openToken(changed, KEYS));
      }
    }
  });

  test('by cutting or extending it', () => {
    for (let length = 0; length < TOKEN.length; length++) {
      const [start, end] = [TOKEN.slice(0, length), TOKEN.slice(length)];
      for (const cut of [start, `${start}A${end}`, `${start}${end.slice(1)}`]) {
        expect(['forged', 'malformed']).toContain(openToken(cut, KEYS));
      }
    }
    expect(openToken(`${TOKEN}AAAA`, KEYS)).toBe('forged');
  });

  test('by spelling it in another way', () => {
    const spelled = [
      `${TOKEN}=`,
      ` ${TOKEN}`,
      `${TOKEN}\n`,
      `${TOKEN.slice(0, 9)}.${TOKEN.slice(9)}`,
      TOKEN.replaceAll('-', '+').replaceAll('_', '/'),
    ];
    for (const text of spelled) expect(['forged', 'malformed']).toContain(openToken(text, KEYS));
  });

  test('with another key, even under the id of the right one', () => {
    const forged = sealToken(BODY, OTHER_KEYS);
    expect(openToken(forged, KEYS)).toBe('forged');
    const renamed = TOKEN.slice(0, 7) + forged.slice(7);
    expect(openToken(renamed, KEYS)).toBe('forged');
  });

  test('of the parts of two others', () => {
    const other = sealToken(
      { ...BODY, parts: [part({ units: 501 }), ...BODY.parts.slice(1)] },
      KEYS,
    );
    for (let at = 0; at < TOKEN.length; at++) {
      const mixed = TOKEN.slice(0, at) + other.slice(at);
      if (mixed === TOKEN || mixed === other) continue;
      expect(['forged', 'malformed']).toContain(openToken(mixed, KEYS));
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
      fc.property(fc.string({ unit: fc.constantFrom(...DIGITS), maxLength: 599 }), (text) => {
        expect(['forged', 'malformed']).toContain(openToken(`B${text}`, KEYS));
      }),
    );
  });
});

describe('a token that another version of headgate signed', () => {
  test('is malformed', () => {
    expect(openToken(signed(SIGNED), KEYS)).not.toBe('malformed');
    expect(openToken(signed(`C${SIGNED.slice(1)}`), KEYS)).toBe('malformed');
  });

  test('is malformed with more partitions, places or names than it has characters, at once', () => {
    const [one, many] = [varint(1), varint(Number.MAX_SAFE_INTEGER)];
    const tables = `${one}g${one}${varint(0)}${digits(0, 4)}`;
    for (const text of [many, `${one}g${many}`, `${tables}limit000${one}${many}`]) {
      expect(openToken(signed(`${HEAD}${text}`), KEYS)).toBe('malformed');
    }
  });

  test('is malformed if it is cut, and costs no more than its length', () => {
    for (let length = HEAD.length; length < SIGNED.length; length++) {
      expect(openToken(signed(SIGNED.slice(0, length)), KEYS)).toSatisfy(
        (opened) => opened === 'malformed' || opened.parts.length < BODY.parts.length,
      );
    }
  });

  test('is malformed with units that never end, and with a mode, a place or a partition that is unknown', () => {
    const [none, one] = [varint(0), varint(1)];
    expect(openToken(signed(`${HEAD}${none}${none}limit000${'_'.repeat(200)}`), KEYS)).toBe(
      'malformed',
    );
    const limit = `limit000${one}${one}AA`;
    const place = `${one}${varint(9)}${digits(0, 4)}`;
    expect(openToken(signed(`${HEAD}${none}${none}${limit}${varint(9)}`), KEYS)).toBe('malformed');
    expect(openToken(signed(`${HEAD}${none}${place}${limit}${none}`), KEYS)).toBe('malformed');
    const otherMode = `${HEAD.slice(0, -1)}${digits(7, 1)}${SIGNED.slice(HEAD.length)}`;
    expect(openToken(signed(otherMode), KEYS)).toBe('malformed');
  });
});
