/**
 * Reads protobuf messages (protobuf.dev/programming-guides/encoding), and skips fields that the caller does not know.
 * Everything here throws MalformedMessage for bytes that are no message.
 */

export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

/** Reads the value of one field that holds a text, bytes or a message, and sets what it means in the target. */
export type ReadField<Target> = (reader: ProtobufReader, target: Target) => void;
export type SetNumber<Target> = (target: Target, value: number) => void;
export interface NumberField<Target> {
  readonly set: SetNumber<Target>;
  /** The type on the wire. */
  readonly type: number;
}
/** The keys are field numbers. A field whose value has another type on the wire is skipped. */
export type Fields<Target> = Readonly<Record<number, ReadField<Target> | NumberField<Target>>>;

export function message<Target>(fields: Fields<Target>): ReadField<Target> {
  return (reader, target) => reader.fieldsUntil(reader.endOfValue(), fields, target);
}

/** Reads a text into the property of this name. */
export function text<Key extends string>(key: Key): ReadField<Record<Key, string>> {
  return (reader, target) => {
    target[key] = reader.utf8();
  };
}

/** Reads a field of the type uint32, uint64, bool or enum. Larger numbers than 2^53 - 1, and negative ones, become that. */
export function number<Target>(set: SetNumber<Target>): NumberField<Target> {
  return { set, type: VARINT };
}

export function double<Target>(set: SetNumber<Target>): NumberField<Target> {
  return { set, type: FIXED_64 };
}

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;
/** In bytes; it holds 64 bits. */
const LONGEST_VARINT = 10;

/** Reads a whole message into the target, and returns it. */
export function readMessage<Target>(bytes: Buffer, fields: Fields<Target>, target: Target): Target {
  new ProtobufReader(bytes).fieldsUntil(bytes.length, fields, target);
  return target;
}

export class ProtobufReader {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  fieldsUntil<Target>(end: number, fields: Fields<Target>, target: Target): void {
    while (this.#position < end) {
      const tag = this.#varint();
      const type = tag % 8;
      const id = (tag - type) / 8;
      if (id === 0) throw new MalformedMessage('a field has the number 0');
      const field = fields[id];
      if (typeof field === 'function' && type === LENGTH_DELIMITED) field(this, target);
      else if (typeof field === 'object' && type === field.type) {
        field.set(target, type === VARINT ? this.#number() : this.#double());
      } else this.#skip(type);
    }
    if (this.#position > end) throw new MalformedMessage('a field ends after its message');
  }

  /** Reads the message that is the value of the current field into the target, and returns it. */
  message<Target>(fields: Fields<Target>, target: Target): Target {
    this.fieldsUntil(this.endOfValue(), fields, target);
    return target;
  }

  /** The value of the current field, with one character for each byte. */
  latin1(): string {
    const end = this.endOfValue();
    const text = this.#bytes.toString('latin1', this.#position, end);
    this.#position = end;
    return text;
  }

  /** Returns what `latin1` does, faster for a text that most messages have. */
  repeated(texts: RepeatedTexts): string {
    const end = this.endOfValue();
    const text = texts.latin1(this.#bytes, this.#position, end);
    this.#position = end;
    return text;
  }

  utf8(): string {
    const end = this.endOfValue();
    const text = this.#bytes.toString('utf8', this.#position, end);
    this.#position = end;
    return text;
  }

  /** A view of the message, not a copy. */
  bytes(): Buffer {
    const end = this.endOfValue();
    const bytes = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return bytes;
  }

  /** The value of the current field, a number in a message of google/protobuf/wrappers.proto. Without a value it is 0. */
  wrappedNumber(): number {
    return this.message(WRAPPED, { value: 0 }).value;
  }

  skipValue(): void {
    this.#position = this.endOfValue();
  }

  /** Where the value of the current field ends. It begins at the position. */
  endOfValue(): number {
    const length = this.#varint();
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new MalformedMessage('a field is longer than the message');
    return end;
  }

  #skip(type: number): void {
    if (type === VARINT) this.#varint();
    else if (type === LENGTH_DELIMITED) this.skipValue();
    else if (type === FIXED_64) this.#position += 8;
    else if (type === FIXED_32) this.#position += 4;
    // Groups, which version 3 does not have, and types that do not exist.
    else throw new MalformedMessage(`a field has the unknown type ${type}`);
  }

  #number(): number {
    return Math.min(this.#varint(), Number.MAX_SAFE_INTEGER);
  }

  #double(): number {
    if (this.#position + 8 > this.#bytes.length) {
      throw new MalformedMessage('the message ends within a field');
    }
    const value = this.#bytes.readDoubleLE(this.#position);
    this.#position += 8;
    return value;
  }

  /** Exact up to 2^53, which is more than any length. */
  #varint(): number {
    let byte = this.#byte();
    if (byte < 128) return byte;
    let value = byte - 128;
    let factor = 128;
    for (let i = 1; i < LONGEST_VARINT; i++) {
      byte = this.#byte();
      if (byte < 128) return value + byte * factor;
      value += (byte - 128) * factor;
      factor *= 128;
    }
    throw new MalformedMessage('a number does not end');
  }

  #byte(): number {
    const byte = this.#bytes[this.#position++];
    if (byte === undefined) throw new MalformedMessage('the message ends within a field');
    return byte;
  }
}

const WRAPPED: Fields<{ value: number }> = {
  1: number((wrapped, value) => {
    wrapped.value = value;
  }),
};

/** A power of two. */
const SLOTS = 256;
/** In bytes. Longer texts are decoded each time. */
const LONGEST = 32;

/** Comparing the bytes of a text that repeats from message to message costs less than decoding them again. */
export class RepeatedTexts {
  /** A text replaces another one with the same hash, so callers that send many texts take no memory. */
  readonly #texts = new Array<string>(SLOTS).fill('');

  latin1(bytes: Buffer, start: number, end: number): string {
    if (end - start > LONGEST) return bytes.toString('latin1', start, end);
    let hash = 0;
    for (let at = start; at < end; at++) hash = (hash * 31 + (bytes[at] as number)) | 0;
    const slot = hash & (SLOTS - 1);
    const known = this.#texts[slot] as string;
    if (known.length === end - start && isAt(known, bytes, start)) return known;
    const text = bytes.toString('latin1', start, end);
    this.#texts[slot] = text;
    return text;
  }
}

function isAt(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
