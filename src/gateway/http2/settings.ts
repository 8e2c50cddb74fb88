/** SETTINGS of both sides: https://www.rfc-editor.org/rfc/rfc9113#section-6.5 */
import { ConnectionError, ErrorCode, MAX_31_BITS, MAX_PAYLOAD_BYTES } from './frames.ts';
import { MAX_HEADER_BYTES, MAX_STREAMS } from './limits.ts';

const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const MAX_HEADER_LIST_SIZE = 6;

const ENTRY_BYTES = 6;

/** Sent first. */
export const OWN_SETTINGS = Buffer.alloc(2 * ENTRY_BYTES);
OWN_SETTINGS.writeUInt16BE(MAX_CONCURRENT_STREAMS, 0);
OWN_SETTINGS.writeUInt32BE(MAX_STREAMS, 2);
OWN_SETTINGS.writeUInt16BE(MAX_HEADER_LIST_SIZE, ENTRY_BYTES);
OWN_SETTINGS.writeUInt32BE(MAX_HEADER_BYTES, ENTRY_BYTES + 2);

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
  if (payload.length % ENTRY_BYTES !== 0) throw new ConnectionError(ErrorCode.frameSize);
  let initialWindow: number | undefined;
  let hasTableSize = false;
  for (let at = 0; at < payload.length; at += ENTRY_BYTES) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    const [min, max, code] = RANGES[id] ?? [0, value, ErrorCode.none];
    if (value < min || value > max) throw new ConnectionError(code);
    if (id === INITIAL_WINDOW_SIZE) initialWindow = value;
    if (id === HEADER_TABLE_SIZE) hasTableSize = true;
  }
  return { initialWindow, hasTableSize };
}
