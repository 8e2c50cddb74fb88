/** Partitions in tokens: a letter and 22 characters of base64url are packed into 18 bytes; others stand as they are. */
import { type ByteReader, type Bytes, ByteWriter } from './bytes.ts';

const PACKABLE = /^[a-z]\.[\w-]{22}$/;
/** 132 bits. */
const DIGEST_CHARACTERS = 22;
const DIGEST_BYTES = 17;
/** In place of the letter. */
const AS_IT_IS = 0;

export function packedPartition(partition: string): Bytes {
  const writer = new ByteWriter();
  if (PACKABLE.test(partition)) {
    writer.bytes(partition.slice(0, 1));
    // With two more characters, all bits of the digest are in whole bytes.
    const digest = Buffer.from(`${partition.slice(2)}AA`, 'base64url');
    writer.bytes(digest.toString('latin1', 0, DIGEST_BYTES));
    return writer.text;
  }
  writer.number(AS_IT_IS, 1);
  writer.number(partition.length, 1);
  writer.bytes(partition);
  return writer.text;
}

export function readPartition(reader: ByteReader): string {
  const letter = reader.number(1);
  if (letter === AS_IT_IS) return reader.bytes(reader.number(1));
  const digest = Buffer.from(reader.bytes(DIGEST_BYTES), 'latin1').toString('base64url');
  return `${String.fromCharCode(letter)}.${digest.slice(0, DIGEST_CHARACTERS)}`;
}
