/**
 * Settle tokens: an admitted request's reservation as base64url text, signed with HMAC-SHA-256 (RFC 2104), so that any gateway
 * with the key can settle it and nobody can make one.
 *
 * Characters, where numbers are digits of six bits: version 1, key id 6, moment 7 (milliseconds since the epoch), life 3
 * (seconds), gateway 8, serial number 6, mode 1; the partitions, a count and each without its dot; the places, a count, and of
 * each the number of its partition and, in 4, how many milliseconds after the moment its units were taken: groups, and slots
 * of a cluster, are taken one after the other; for each limit its digest 8, its units and a count, then as many pairs of form 2
 * and number of the place; the first 22 characters of the signature. Counts, numbers and units are varints.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Reservation } from '../core/counting/reservation.ts';
import { GLOBAL_PARTITION } from '../core/identity/partition.ts';
import { DigitReader, digits, varint } from './digits.ts';
import { DIGEST_LENGTH, FORM_LENGTH, type LimitName } from './limit-names.ts';
import { KEY_ID_LENGTH, type SigningKeys } from './signing-keys.ts';

/**
 * Characters: as many as Node and HAProxy take for all headers of a request. `check` allows far fewer for the requests of each
 * policy, but a path that servers read in several ways, or that was rewritten, has the policies of all its readings.
 */
const LONGEST_READ = 16_384;

const VERSION = digits(1, 1);
export const GATEWAY_LENGTH = 8;
const HEAD_LENGTH = 32;
/** 132 bits. */
const MAC_LENGTH = 22;
const PARTITION_DIGEST_LENGTH = 22;
const DELAY_LENGTH = 4;
/** Four hours and a half: only clocks of a cluster's nodes that are wrong differ by more. */
const LONGEST_DELAY_MS = 64 ** DELAY_LENGTH - 1;
/** As many characters of the signature name a settlement. */
const ID_LENGTH = 16;
const MODES = ['enforced', 'local'] as const;
const WELL_FORMED = /^B[\w-]{54,}$/;

export interface TokenPart {
  readonly name: LimitName;
  readonly partition: string;
  readonly units: number;
  /** When they were taken, milliseconds since the epoch. */
  readonly momentMs: number;
}

export interface TokenBody extends Pick<Reservation, 'mode'> {
  /** Milliseconds since the epoch. */
  readonly endsMs: number;
  /** Which process made it: 8 characters of base64url. */
  readonly gateway: string;
  /** Tells apart the tokens of this process for one client in one millisecond: 0 to 2^32 - 1. */
  readonly serial: number;
  readonly parts: readonly TokenPart[];
}

export interface OpenedToken extends TokenBody {
  /** Unique among tokens: 16 characters of base64url. */
  readonly id: string;
}

/** `endsMs` is rounded up to whole seconds after the first moment. */
export function sealToken(body: TokenBody, keys: SigningKeys): string {
  const { id, key } = keys.current();
  const momentMs = firstMoment(body.parts);
  const lifeSeconds = Math.ceil((body.endsMs - momentMs) / 1000);
  const times = digits(momentMs, 7) + digits(lifeSeconds, 3);
  const mode = digits(MODES.indexOf(body.mode), 1);
  const head = VERSION + id + times + body.gateway + digits(body.serial, 6) + mode;
  const signed = head + writtenParts(body.parts);
  return signed + signatureOf(signed, key);
}

/** The length in characters of a token with these parts, however long it is. */
export function tokenLength(parts: readonly TokenPart[]): number {
  return HEAD_LENGTH + writtenParts(parts).length + MAC_LENGTH;
}

/** Costs one signature at most, and none for a text that is too long or names no key. */
export function openToken(token: string, keys: SigningKeys): OpenedToken | 'malformed' | 'forged' {
  if (token.length > LONGEST_READ || !WELL_FORMED.test(token)) return 'malformed';
  const key = keys.find(token.slice(VERSION.length, VERSION.length + KEY_ID_LENGTH));
  if (key === undefined) return 'forged';
  const signed = token.slice(0, -MAC_LENGTH);
  const mac = token.slice(-MAC_LENGTH);
  const expected = Buffer.from(signatureOf(signed, key.key), 'latin1');
  if (!timingSafeEqual(expected, Buffer.from(mac, 'latin1'))) return 'forged';
  const body = readBody(new DigitReader(signed));
  return body === undefined ? 'malformed' : { ...body, id: mac.slice(0, ID_LENGTH) };
}

function signatureOf(signed: string, key: KeyObject): string {
  const mac = createHmac('sha256', key).update(signed, 'latin1').digest('base64url');
  return mac.slice(0, MAC_LENGTH);
}

function firstMoment(parts: readonly TokenPart[]): number {
  let firstMs = Number.POSITIVE_INFINITY;
  for (const { momentMs } of parts) firstMs = Math.min(firstMs, momentMs);
  return firstMs;
}

function writtenParts(parts: readonly TokenPart[]): string {
  const firstMs = firstMoment(parts);
  const partitions: string[] = [];
  const places: string[] = [];
  let limits = '';
  // All names of a client follow one another.
  for (let i = 0; i < parts.length; ) {
    const first = parts[i] as TokenPart;
    let pairs = '';
    let count = 0;
    for (let part = parts[i]; part !== undefined && isAlike(part, first); part = parts[++i]) {
      const delayMs = Math.min(part.momentMs - firstMs, LONGEST_DELAY_MS);
      const partition = varint(numberIn(partitions, part.partition));
      const place = numberIn(places, partition + digits(delayMs, DELAY_LENGTH));
      pairs += part.name.slice(DIGEST_LENGTH) + varint(place);
      count++;
    }
    limits += first.name.slice(0, DIGEST_LENGTH) + varint(first.units) + varint(count) + pairs;
  }
  let text = varint(partitions.length);
  for (const each of partitions) text += each.charAt(0) + each.slice(2);
  text += varint(places.length);
  for (const each of places) text += each;
  return text + limits;
}

/** Where a table has an entry. A new one is added. */
function numberIn(table: string[], entry: string): number {
  const known = table.indexOf(entry);
  return known === -1 ? table.push(entry) - 1 : known;
}

function isAlike({ name, units }: TokenPart, other: TokenPart): boolean {
  return units === other.units && name.startsWith(other.name.slice(0, DIGEST_LENGTH));
}

/** Undefined only if another version of headgate has signed something else. */
function readBody(reader: DigitReader): TokenBody | undefined {
  reader.text(VERSION.length + KEY_ID_LENGTH);
  const firstMs = reader.digits(7);
  const endsMs = firstMs + 1000 * reader.digits(3);
  const gateway = reader.text(GATEWAY_LENGTH);
  const serial = reader.digits(6);
  const mode = MODES[reader.digits(1)];
  const partitions = readTable(reader, () => readPartition(reader));
  const places = readTable(reader, () => ({
    partition: partitions[reader.varint()],
    momentMs: firstMs + reader.digits(DELAY_LENGTH),
  }));
  const parts: TokenPart[] = [];
  while (!reader.isAtEnd) {
    const digest = reader.text(DIGEST_LENGTH);
    const units = reader.varint();
    for (let left = reader.varint(); left > 0 && !reader.isCut; left--) {
      const name = digest + reader.text(FORM_LENGTH);
      const place = places[reader.varint()];
      if (place?.partition === undefined) return undefined;
      parts.push({ name, partition: place.partition, units, momentMs: place.momentMs });
    }
  }
  if (mode === undefined || reader.isCut) return undefined;
  return { endsMs, gateway, serial, mode, parts };
}

function readTable<T>(reader: DigitReader, read: () => T): T[] {
  const table: T[] = [];
  for (let left = reader.varint(); left > 0 && !reader.isCut; left--) table.push(read());
  return table;
}

function readPartition(reader: DigitReader): string {
  const letter = reader.text(1);
  if (letter === GLOBAL_PARTITION) return letter;
  return `${letter}.${reader.text(PARTITION_DIGEST_LENGTH)}`;
}
