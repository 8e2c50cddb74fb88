/** Values of JSON lines, by paths such as `request.headers.X-Api-Key`. */
import { isRecord } from '../../../../gateway/core/is-record.ts';
import type { Cell } from './values.ts';

export type JsonObject = { readonly [key: string]: unknown };
export type ReadPath = (object: JsonObject) => Cell;

/** Escapes for characters that are no ASCII. */
const FOREIGN_ESCAPE = /\\u(?!00[0-7])/;
/** NGINX writes this into JSON, too, unless the log_format has `escape=json`. */
const BYTE_ESCAPE = /\\x([0-9A-Fa-f]{2})/g;

/** Texts of the result have one character per byte, like the line. Undefined if the line is no JSON object. */
export function parseObject(line: string): JsonObject | undefined {
  if (line.charCodeAt(0) !== 123) return undefined;
  return (
    parsed(line) ??
    (line.includes('\\x') ? parsed(line.replace(BYTE_ESCAPE, '\\u00$1')) : undefined)
  );
}

function parsed(line: string): JsonObject | undefined {
  try {
    const value: unknown = FOREIGN_ESCAPE.test(line)
      ? JSON.parse(Buffer.from(line, 'latin1').toString(), (_, each: unknown) => bytesOf(each))
      : JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function bytesOf(value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value).toString('latin1') : value;
}

/** Keys may have dots themselves: `a.b.c` is also the key `b.c` of `a`. A number is a place in a list. */
export function jsonPath(path: string): ReadPath {
  const read = reader(path);
  return (object) => cellOf(read(object));
}

function reader(path: string): (value: JsonObject) => unknown {
  const inner = [...path.matchAll(/\./g)].map(({ index }) => ({
    key: path.slice(0, index),
    rest: path.slice(index + 1),
    read: reader(path.slice(index + 1)),
  }));
  return (object) => {
    if (Object.hasOwn(object, path)) return object[path];
    for (const { key, rest, read } of inner) {
      const value = Object.hasOwn(object, key) ? object[key] : undefined;
      if (isRecord(value)) return read(value);
      if (Array.isArray(value)) return value[Number(rest)];
    }
    return undefined;
  };
}

/** A list is the header field that its values would be. Objects and null are no values. */
function cellOf(value: unknown): Cell {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return String(value);
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((each) => typeof each === 'string').join(', ');
}
