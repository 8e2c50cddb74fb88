/** Reads settle tokens without their key, as anyone can. It shares no code with the gateway. */

export interface TokenPart {
  /** Hex. It names policy and limit. */
  readonly digest: string;
  readonly form: number;
  readonly partition: string;
  readonly units: number;
  /** By the clock of Redis. */
  readonly momentMs: number;
}

export interface ReadToken {
  /** In the name of its mark. */
  readonly id: string;
  readonly endsMs: number;
  readonly parts: readonly TokenPart[];
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const MAC_LENGTH = 22;
const ID_LENGTH = 16;

export function readToken(text: string): ReadToken {
  const end = text.length - MAC_LENGTH;
  let at = 7;
  const take = (length: number) => {
    at += length;
    return text.slice(at - length, at);
  };
  const number = (length: number) =>
    [...take(length)].reduce((sum, digit) => sum * 64 + DIGITS.indexOf(digit), 0);
  const varint = () => {
    for (let value = 0, weight = 1; ; weight *= 32) {
      const digit = number(1);
      value += (digit & 31) * weight;
      if (digit < 32) return value;
    }
  };
  const firstMs = number(7);
  const endsMs = firstMs + 1_000 * number(3);
  take(8 + 6 + 1);
  const partitions = Array.from({ length: varint() }, () => {
    const letter = take(1);
    return letter === 'g' ? letter : `${letter}.${take(22)}`;
  });
  const places = Array.from({ length: varint() }, () => ({
    partition: partitions[varint()] ?? '',
    momentMs: firstMs + number(4),
  }));
  const parts: TokenPart[] = [];
  while (at < end) {
    const digest = Buffer.from(take(8), 'base64url').toString('hex');
    const units = varint();
    for (let left = varint(); left > 0; left--) {
      const form = number(2);
      const place = places[varint()] ?? { partition: '', momentMs: 0 };
      parts.push({ digest, form, units, ...place });
    }
  }
  return { id: text.slice(end, end + ID_LENGTH), endsMs, parts };
}
