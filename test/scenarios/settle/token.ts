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

const MAC_BYTES = 16;
const ID_BYTES = 12;

export function readToken(text: string): ReadToken {
  const bytes = Buffer.from(text, 'base64url');
  const end = bytes.length - MAC_BYTES;
  let at = 5;
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const number = (length: number) => take(length).reduce((sum, byte) => sum * 256 + byte, 0);
  const varint = () => {
    for (let value = 0, weight = 1; ; weight *= 128) {
      const byte = number(1);
      value += (byte & 127) * weight;
      if (byte < 128) return value;
    }
  };
  const firstMs = number(6);
  const endsMs = firstMs + 1_000 * number(4);
  take(6 + 4 + 1);
  const partitions = Array.from({ length: number(1) }, () => {
    const letter = number(1);
    if (letter === 0) return take(number(1)).toString('latin1');
    return `${String.fromCharCode(letter)}.${take(17).toString('base64url').slice(0, 22)}`;
  });
  const parts: TokenPart[] = [];
  while (at < end) {
    const digest = take(6).toString('hex');
    const [units, momentMs] = [varint(), firstMs + varint()];
    for (let left = number(1); left > 0; left--) {
      const form = number(1);
      const partition = partitions[number(1)] ?? '';
      parts.push({ digest, form, partition, units, momentMs });
    }
  }
  const id = bytes.subarray(end, end + ID_BYTES).toString('base64url');
  return { id, endsMs, parts };
}
