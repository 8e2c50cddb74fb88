/** Starts of conversations that are none, and values of settings. */
import { PREFACE } from '../../../test/support/http2-frames.ts';

export const ODD_STARTS = [
  '',
  PREFACE.slice(0, 5),
  'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
  'GET /envoy/a HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
  'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n',
  '\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03',
  PREFACE + PREFACE,
];

/** Numbers of settings, with values that the gateway must accept. */
export const SETTINGS: readonly (readonly [id: number, values: readonly number[]])[] = [
  [1, [0, 1, 100, 4_096, 65_536]],
  [2, [0, 1]],
  [3, [0, 1, 100, 2 ** 31]],
  [4, [0, 0, 1, 100, 65_535, 2 ** 24, 2 ** 31 - 1]],
  [5, [16_384, 2 ** 24 - 1]],
  [6, [0, 100, 2 ** 31]],
  [8, [0]],
  [9, [0]],
  [0xff, [0, 1]],
];
export const ODD_VALUES = [0, 2, 100, 2 ** 24, 2 ** 31, 2 ** 32 - 1];
