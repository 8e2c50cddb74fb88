/** The frames that carry the headers of one request: https://www.rfc-editor.org/rfc/rfc9113#section-6.2 */

export const FRAME_HEADER_LENGTH = 9;
/** The most that Node lets clients send. It ends connections with longer frames. */
const LONGEST_FRAME = 16_384;
/** nghttp2, with which Node reads HTTP/2, ends connections that send more. */
const MOST_CONTINUATIONS = 8;

const HEADERS = 1;
const CONTINUATION = 9;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;
const PRIORITY_LENGTH = 5;

export interface HeadersFrames {
  readonly flags: number;
  readonly stream: number;
  readonly priority: Buffer;
  readonly block: Buffer;
  readonly end: number;
}

export function lengthOf(bytes: Buffer, at: number): number {
  return bytes.readUIntBE(at, 3);
}

export function isHeaders(bytes: Buffer, at: number): boolean {
  return bytes[at + 3] === HEADERS;
}

/** `refused`: Node closes the connection because of these bytes. */
export function headersAt(bytes: Buffer, at: number): HeadersFrames | 'incomplete' | 'refused' {
  const length = lengthOf(bytes, at);
  const end = at + FRAME_HEADER_LENGTH + length;
  if (length > LONGEST_FRAME) return 'refused';
  if (end > bytes.length) return 'incomplete';
  const flags = bytes[at + 4] as number;
  const stream = bytes.readUInt32BE(at + 5);
  const [padding, paddingLength] = (flags & PADDED) === 0 ? [0, 0] : [bytes[at + 9] as number, 1];
  const priorityAt = at + FRAME_HEADER_LENGTH + paddingLength;
  const fieldsAt = priorityAt + ((flags & PRIORITY) === 0 ? 0 : PRIORITY_LENGTH);
  const priority = bytes.subarray(priorityAt, fieldsAt);
  const block = bytes.subarray(fieldsAt, Math.max(fieldsAt, end - padding));
  if ((flags & END_HEADERS) !== 0) return { flags, stream, priority, block, end };
  const rest = continuationsAt(bytes, end);
  if (typeof rest === 'string') return rest;
  const whole = Buffer.concat([block, ...rest.blocks]);
  return { flags, stream, priority, block: whole, end: rest.end };
}

interface Continuations {
  readonly blocks: readonly Buffer[];
  readonly end: number;
}

function continuationsAt(bytes: Buffer, start: number): Continuations | 'incomplete' | 'refused' {
  const blocks: Buffer[] = [];
  for (let at = start; bytes.length - at >= FRAME_HEADER_LENGTH; ) {
    const length = lengthOf(bytes, at);
    const end = at + FRAME_HEADER_LENGTH + length;
    if (bytes[at + 3] !== CONTINUATION || length > LONGEST_FRAME) return 'refused';
    if (end > bytes.length) return 'incomplete';
    blocks.push(bytes.subarray(at + FRAME_HEADER_LENGTH, end));
    if (blocks.length > MOST_CONTINUATIONS) return 'refused';
    if (((bytes[at + 4] as number) & END_HEADERS) !== 0) return { blocks, end };
    at = end;
  }
  return 'incomplete';
}

export function framesOf({ flags, stream, priority }: HeadersFrames, block: Buffer): Buffer {
  const fields = Buffer.concat([priority, block]);
  const frames: Buffer[] = [];
  for (let at = 0; at < fields.length; at += LONGEST_FRAME) {
    frames.push(fields.subarray(at, at + LONGEST_FRAME));
  }
  const kept = flags & (END_STREAM | PRIORITY);
  return Buffer.concat(
    frames.flatMap((payload, i) => {
      const head = Buffer.alloc(FRAME_HEADER_LENGTH);
      head.writeUIntBE(payload.length, 0, 3);
      head.writeUInt8(i === 0 ? HEADERS : CONTINUATION, 3);
      head.writeUInt8((i === 0 ? kept : 0) | (i === frames.length - 1 ? END_HEADERS : 0), 4);
      head.writeUInt32BE(stream, 5);
      return [head, payload];
    }),
  );
}
