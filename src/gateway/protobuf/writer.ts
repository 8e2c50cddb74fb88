/**
 * A message is a string with one character for each byte: V8 joins strings faster than it fills buffers, and a stream writes
 * such a string as `latin1` (protobuf.dev/programming-guides/encoding).
 */
import { UNCOMPRESSED } from './frames.ts';

const VARINT = 0;
const LENGTH_DELIMITED = 2;

export function numberField(field: number, value: number): string {
  return varint(field * 8 + VARINT) + varint(value);
}

export function textField(field: number, text: string): string {
  return messageField(field, NOT_ASCII.test(text) ? utf8(text) : text);
}

export function messageField(field: number, message: string): string {
  return varint(field * 8 + LENGTH_DELIMITED) + varint(message.length) + message;
}

const NOT_ASCII = /[\u0080-\uffff]/;

function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Seven bits per byte, the lowest first; each byte but the last has its high bit set. */
function varint(value: number): string {
  if (value < 128) return String.fromCharCode(value);
  return String.fromCharCode((value % 128) + 128) + varint(Math.floor(value / 128));
}

/** The message in its frame of gRPC, which frames.ts reads. */
export function framed(message: string): string {
  const { length } = message;
  const lengthBytes = [length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255];
  return String.fromCharCode(UNCOMPRESSED, ...lengthBytes) + message;
}
