/** SETTINGS of both sides: https://www.rfc-editor.org/rfc/rfc9113#section-6.5 */
import {
  demand,
  ErrorCode,
  Flag,
  FrameType,
  frameOf,
  MAX_31_BITS,
  MAX_PAYLOAD_BYTES,
} from './frames.ts';
import { MAX_HEADER_BYTES, MAX_STREAMS } from './limits.ts';

const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const MAX_HEADER_LIST_SIZE = 6;

const ENTRY_BYTES = 6;

/** The first frame that is sent. */
export const OWN_SETTINGS = settingsOf([
  [MAX_CONCURRENT_STREAMS, MAX_STREAMS],
  [MAX_HEADER_LIST_SIZE, MAX_HEADER_BYTES],
]);
export const SETTINGS_ACK = frameOf(FrameType.settings, Flag.ack, Buffer.alloc(0));

/** Other values are mistakes with this code. */
const RANGES: Readonly<Record<number, readonly [min: number, max: number, code: number]>> = {
  [ENABLE_PUSH]: [0, 1, ErrorCode.protocol],
  [INITIAL_WINDOW_SIZE]: [0, MAX_31_BITS, ErrorCode.flowControl],
  [MAX_FRAME_SIZE]: [MAX_PAYLOAD_BYTES, 2 ** 24 - 1, ErrorCode.protocol],
};

/** What a server that sends small frames and compresses nothing must know. */
export interface PeerSettings {
  readonly initialWindow: number | undefined;
  readonly hasTableSize: boolean;
}

/** If a setting stands there several times, the last one applies. Throws ConnectionError. */
export function readSettings(payload: Buffer): PeerSettings {
  demand(payload.length % ENTRY_BYTES === 0, ErrorCode.frameSize);
  let initialWindow: number | undefined;
  let hasTableSize = false;
  for (let at = 0; at < payload.length; at += ENTRY_BYTES) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    const [min, max, code] = RANGES[id] ?? [0, value, ErrorCode.none];
    demand(value >= min && value <= max, code);
    if (id === INITIAL_WINDOW_SIZE) initialWindow = value;
    if (id === HEADER_TABLE_SIZE) hasTableSize = true;
  }
  return { initialWindow, hasTableSize };
}

function settingsOf(entries: [id: number, value: number][]): Buffer {
  const payload = Buffer.alloc(ENTRY_BYTES * entries.length);
  for (const [i, [id, value]] of entries.entries()) {
    payload.writeUInt16BE(id, ENTRY_BYTES * i);
    payload.writeUInt32BE(value, ENTRY_BYTES * i + 2);
  }
  return frameOf(FrameType.settings, 0, payload);
}
