/** SETTINGS of both sides: https://www.rfc-editor.org/rfc/rfc9113#section-6.5 */
import { demand, ErrorCode, MAX_31_BITS, MAX_PAYLOAD_BYTES } from './frames.ts';
import { MAX_HEADER_BYTES, MAX_STREAMS } from './limits.ts';

export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

const ENTRY_BYTES = 6;

/** Sent first. */
export const OWN_SETTINGS = Buffer.alloc(2 * ENTRY_BYTES);
OWN_SETTINGS.writeUInt16BE(Setting.maxConcurrentStreams, 0);
OWN_SETTINGS.writeUInt32BE(MAX_STREAMS, 2);
OWN_SETTINGS.writeUInt16BE(Setting.maxHeaderListSize, ENTRY_BYTES);
OWN_SETTINGS.writeUInt32BE(MAX_HEADER_BYTES, ENTRY_BYTES + 2);

/** Other values are mistakes with this code. */
const RANGES: Readonly<Record<number, readonly [min: number, max: number, code: number]>> = {
  [Setting.enablePush]: [0, 1, ErrorCode.protocol],
  [Setting.initialWindowSize]: [0, MAX_31_BITS, ErrorCode.flowControl],
  [Setting.maxFrameSize]: [MAX_PAYLOAD_BYTES, 2 ** 24 - 1, ErrorCode.protocol],
};

/** By their numbers. If a setting stands there several times, the last one applies. Throws ConnectionError. */
export function readSettings(payload: Buffer): ReadonlyMap<number, number> {
  demand(payload.length % ENTRY_BYTES === 0, ErrorCode.frameSize);
  const settings = new Map<number, number>();
  for (let at = 0; at < payload.length; at += ENTRY_BYTES) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    const [min, max, code] = RANGES[id] ?? [0, value, ErrorCode.none];
    demand(value >= min && value <= max, code);
    settings.set(id, value);
  }
  return settings;
}
