/** The frames of HTTP/2: https://www.rfc-editor.org/rfc/rfc9113#section-6 */

export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

/** Section 7. */
export const ErrorCode = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export const FRAME_HEAD_BYTES = 9;
/** Without another setting, a peer sends no longer payload (section 4.2). */
export const MAX_PAYLOAD_BYTES = 16_384;
/** A dependency and its weight, in PRIORITY and some HEADERS. */
export const PRIORITY_BYTES = 5;
/** The largest stream id, window and increment. */
export const MAX_31_BITS = 0x7fffffff;

/** The reader uses one object for all frames of a connection. The payload refers to the bytes as they were read. */
export interface Frame {
  type: number;
  flags: number;
  stream: number;
  payload: Buffer;
}

/** A frame of the connection, or one that gets the number of its stream when it is sent. */
export function frameOf(type: number, flags: number, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  frame.writeUInt32BE((payload.length << 8) | type);
  frame[4] = flags;
  frame.writeUInt32BE(0, 5);
  payload.copy(frame, FRAME_HEAD_BYTES);
  return frame;
}

/** Without the highest bit, which is reserved. */
export function readUint31(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) & MAX_31_BITS;
}

/** The connection must be closed with this code (section 5.4.1). */
export class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, message = `HTTP/2 error ${code}`) {
    super(message);
    this.code = code;
  }
}

/** Throws a ConnectionError with this code unless it is so. */
export function demand(isSo: boolean, code: number): void {
  if (!isSo) throw new ConnectionError(code);
}

/** The payload of a DATA or HEADERS frame without its padding (section 6.1). Throws ConnectionError. */
export function withoutPadding({ flags, payload }: Frame): Buffer {
  if ((flags & Flag.padded) === 0) return payload;
  demand(payload.length > 0, ErrorCode.frameSize);
  const end = payload.length - (payload[0] as number);
  demand(end >= 1, ErrorCode.protocol);
  return payload.subarray(1, end);
}
