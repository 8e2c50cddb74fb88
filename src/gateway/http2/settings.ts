/** SETTINGS of both sides: https://www.rfc-editor.org/rfc/rfc9113#section-6.5 */
import {
  ConnectionError,
  ErrorCode,
  FRAME_HEAD_BYTES,
  FrameType,
  MAX_31_BITS,
  MAX_PAYLOAD_BYTES,
  readUint31,
  writeFrameHead,
  writeUint32,
} from './frames.ts';
import { MAX_HEADER_BYTES, MAX_STREAMS } from './limits.ts';

const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

const ENTRY_BYTES = 6;
const MAX_MAX_FRAME_SIZE = 2 ** 24 - 1;

/** Sent first. */
export const OWN_SETTINGS = settingsFrame([
  [Setting.maxConcurrentStreams, MAX_STREAMS],
  [Setting.maxHeaderListSize, MAX_HEADER_BYTES],
]);

/** What a server that sends small frames and compresses nothing must know. */
export interface PeerSettings {
  readonly initialWindow: number | undefined;
  readonly hasTableSize: boolean;
}

/** If a setting stands there several times, the last one applies. Throws ConnectionError. */
export function readSettings(payload: Buffer): PeerSettings {
  if (payload.length % ENTRY_BYTES !== 0) throw new ConnectionError(ErrorCode.frameSize);
  let initialWindow: number | undefined;
  let hasTableSize = false;
  for (let at = 0; at < payload.length; at += ENTRY_BYTES) {
    const value = payload.readUInt32BE(at + 2);
    switch (payload.readUInt16BE(at)) {
      case Setting.headerTableSize:
        hasTableSize = true;
        break;
      case Setting.enablePush:
        if (value > 1) throw new ConnectionError(ErrorCode.protocol);
        break;
      case Setting.initialWindowSize:
        if (value > MAX_31_BITS) throw new ConnectionError(ErrorCode.flowControl);
        initialWindow = value;
        break;
      case Setting.maxFrameSize:
        if (value < MAX_PAYLOAD_BYTES || value > MAX_MAX_FRAME_SIZE) {
          throw new ConnectionError(ErrorCode.protocol);
        }
        break;
    }
  }
  return { initialWindow, hasTableSize };
}

/** Throws ConnectionError (section 6.9). An increment of 0 is a mistake of the stream, or of the connection. */
export function readIncrement(payload: Buffer): number {
  if (payload.length !== 4) throw new ConnectionError(ErrorCode.frameSize);
  return readUint31(payload, 0);
}

function settingsFrame(settings: readonly [id: number, value: number][]): Buffer {
  const length = settings.length * ENTRY_BYTES;
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + length);
  writeFrameHead(frame, 0, { length, type: FrameType.settings, flags: 0, stream: 0 });
  for (const [i, [id, value]] of settings.entries()) {
    const at = FRAME_HEAD_BYTES + i * ENTRY_BYTES;
    frame.writeUInt16BE(id, at);
    writeUint32(frame, at + 2, value);
  }
  return frame;
}
