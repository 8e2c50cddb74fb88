/**
 * Settle tokens: an admitted request's reservation in base64url, signed with HMAC-SHA-256 (RFC 2104), so that any gateway
 * with the key can settle it and nobody can make one.
 *
 * Bytes: version 1, key id 4, moment 6 (milliseconds since the epoch), life 4 (seconds), gateway 6, serial number 4, mode 1;
 * the partitions, a count of 1 and each packed; for each limit its digest 6, its units and how many milliseconds after the
 * moment they were taken, both as varints, a count of 1, and as many pairs of form 1 and number of the partition 1; the first
 * 16 bytes of the signature.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Reservation } from '../core/counting/reservation.ts';
import { ByteReader, type Bytes, ByteWriter } from './bytes.ts';
import { DIGEST_BYTES, type LimitName } from './limit-names.ts';
import { packedPartition, readPartition } from './packed-partition.ts';
import type { SigningKeys } from './signing-keys.ts';

/** Characters. Proxies pass on headers of this length. */
export const LONGEST_TOKEN = 600;
const MOST_BYTES = (LONGEST_TOKEN / 4) * 3;

const VERSION = 1;
export const GATEWAY_BYTES = 6;
const MAC_BYTES = 16;
const HEAD_BYTES = 26;
/** As many bytes of the signature name a settlement: 16 characters. */
const ID_BYTES = 12;
const MODES = ['enforced', 'local'] as const;

export interface TokenPart extends LimitName {
  readonly partition: string;
  readonly units: number;
  /** When they were taken, milliseconds since the epoch. */
  readonly momentMs: number;
}

export interface TokenBody extends Pick<Reservation, 'mode'> {
  /** Milliseconds since the epoch. */
  readonly endsMs: number;
  /** Which process made it: 6 bytes, one character for each. */
  readonly gateway: string;
  /** Tells apart the tokens of this process for one client in one millisecond: 0 to 2^32 - 1. */
  readonly serial: number;
  readonly parts: readonly TokenPart[];
}

export interface OpenedToken extends TokenBody {
  /** Unique among tokens: 16 characters of base64url. */
  readonly id: string;
}

/** `endsMs` is rounded up to whole seconds after the first moment. Parts that do not fit are left out, the last ones first. */
export function sealToken(body: TokenBody, keys: SigningKeys): string {
  const { id, key } = keys.current();
  const momentMs = firstMoment(body.parts);
  let parts = body.parts;
  let packed = packedParts(parts);
  while (packed.length > MOST_BYTES - HEAD_BYTES - MAC_BYTES) {
    parts = parts.slice(0, -1);
    packed = packedParts(parts);
  }
  const writer = new ByteWriter();
  writer.number(VERSION, 1);
  writer.number(id, 4);
  writer.number(momentMs, 6);
  writer.number(Math.ceil((body.endsMs - momentMs) / 1000), 4);
  writer.bytes(body.gateway);
  writer.number(body.serial, 4);
  writer.number(MODES.indexOf(body.mode), 1);
  writer.bytes(packed);
  const signed = writer.text;
  return Buffer.from(signed + signatureOf(signed, key), 'latin1').toString('base64url');
}

/** The length in characters of a token with these parts, however long it is. */
export function tokenLength(parts: readonly TokenPart[]): number {
  return Math.ceil(((HEAD_BYTES + packedParts(parts).length + MAC_BYTES) * 4) / 3);
}

/** Costs one signature at most, and none for a text that is too long or names no key. */
export function openToken(token: string, keys: SigningKeys): OpenedToken | 'malformed' | 'forged' {
  if (token.length > LONGEST_TOKEN) return 'malformed';
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length <= HEAD_BYTES + MAC_BYTES || bytes[0] !== VERSION) return 'malformed';
  // Node skips characters that are not of base64url, and bits at the end.
  if (bytes.toString('base64url') !== token) return 'malformed';
  const key = keys.find(bytes.readUInt32BE(1));
  if (key === undefined) return 'forged';
  const signed: Bytes = bytes.toString('latin1', 0, bytes.length - MAC_BYTES);
  const mac = bytes.subarray(-MAC_BYTES);
  if (!timingSafeEqual(Buffer.from(signatureOf(signed, key.key), 'latin1'), mac)) return 'forged';
  const body = readBody(new ByteReader(signed));
  return body === undefined ? 'malformed' : { ...body, id: mac.toString('base64url', 0, ID_BYTES) };
}

/** As text: a buffer for the digest takes a third longer. */
function signatureOf(signed: Bytes, key: KeyObject): Bytes {
  return createHmac('sha256', key).update(signed, 'latin1').digest('binary').slice(0, MAC_BYTES);
}

function firstMoment(parts: readonly TokenPart[]): number {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const { momentMs } of parts) firstMs = Math.min(firstMs, momentMs);
  return firstMs;
}

function packedParts(parts: readonly TokenPart[]): Bytes {
  const firstMs = firstMoment(parts);
  const partitions: string[] = [];
  for (const { partition } of parts) {
    if (!partitions.includes(partition)) partitions.push(partition);
  }
  const writer = new ByteWriter();
  writer.number(partitions.length, 1);
  for (const each of partitions) writer.bytes(packedPartition(each));
  // All names of a client follow one another.
  for (let i = 0; i < parts.length; ) {
    const first = parts[i] as TokenPart;
    let names = '';
    let count = 0;
    for (let part = parts[i]; part !== undefined && isAlike(part, first); part = parts[++i]) {
      names += String.fromCharCode(part.form, partitions.indexOf(part.partition));
      count++;
    }
    writer.bytes(first.digest);
    writer.varint(first.units);
    writer.varint(first.momentMs - firstMs);
    writer.number(count, 1);
    writer.bytes(names);
  }
  return writer.text;
}

function isAlike(part: TokenPart, other: TokenPart): boolean {
  const { digest, units, momentMs } = other;
  return part.digest === digest && part.units === units && part.momentMs === momentMs;
}

/** Undefined only if another version of headgate has signed something else. */
function readBody(reader: ByteReader): TokenBody | undefined {
  reader.skip(1 + 4);
  const firstMs = reader.number(6);
  const endsMs = firstMs + 1000 * reader.number(4);
  const gateway = reader.bytes(GATEWAY_BYTES);
  const serial = reader.number(4);
  const mode = MODES[reader.number(1)];
  const partitions = Array.from({ length: reader.number(1) }, () => readPartition(reader));
  const parts: TokenPart[] = [];
  while (!reader.isAtEnd) {
    const digest = reader.bytes(DIGEST_BYTES);
    const units = reader.varint();
    const momentMs = firstMs + reader.varint();
    for (let left = reader.number(1); left > 0; left--) {
      const form = reader.number(1);
      const partition = partitions[reader.number(1)];
      if (partition === undefined) return undefined;
      parts.push({ digest, form, partition, units, momentMs });
    }
  }
  if (mode === undefined || reader.isCut) return undefined;
  return { endsMs, gateway, serial, mode, parts };
}
