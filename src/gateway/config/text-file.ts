/** Reads a file that an operator named. The file may be of any kind, and may change while it is read. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';
import { type Diagnostic, diagnostic, FileError, type Place } from './diagnostic.ts';

const MAX_BYTES = 16 * 1024 * 1024;
const START: Place = { line: 1, column: 1 };

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'cannot be read: its symbolic links form a loop',
  ENOTDIR: 'cannot be read: a part of its path is not a directory',
  ENXIO: 'cannot be read: not a regular file',
};

/** Throws a FileError. Its message ends with `namedBy`, which says which setting or key names the file. */
export function readText(path: string, namedBy?: string): string {
  const name = displayName(path);
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readRegularFile(file, name);
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (cause instanceof FileError) throw cause;
    const why = REASONS[(cause as NodeJS.ErrnoException).code ?? ''] ?? 'cannot be read';
    throw unreadable(name, namedBy === undefined ? why : `${why}; ${namedBy}`);
  }
}

/** Throws a FileError if the file is not regular, too large, or changes while it is read. */
function readRegularFile(file: number, name: string): string {
  const before = fstatSync(file);
  if (before.isDirectory()) {
    throw unreadable(name, 'cannot be read: it is a directory, name a file in it');
  }
  if (!before.isFile()) throw unreadable(name, 'cannot be read: not a regular file');
  if (before.size > MAX_BYTES) throw tooLarge(name, before.size);
  const bytes = readBytes(file, before.size);
  // Some files of /proc and /sys report a size of 0 and never end.
  if (bytes.length > MAX_BYTES) throw tooLarge(name, bytes.length);
  if (!isSame(before, fstatSync(file))) throw unreadable(name, 'changed while it was read');
  return bytes.toString('utf8');
}

/** Reads at most one byte more than a file may have. */
function readBytes(file: number, expected: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= MAX_BYTES) {
    const wanted = Math.min(Math.max(expected - length, 65_536), MAX_BYTES + 1 - length);
    const chunk = Buffer.allocUnsafe(wanted);
    const read = readSync(file, chunk, 0, wanted, null);
    if (read === 0) break;
    chunks.push(chunk.subarray(0, read));
    length += read;
  }
  return Buffer.concat(chunks);
}

function isSame(before: Stats, after: Stats): boolean {
  return before.size === after.size && before.mtimeMs === after.mtimeMs;
}

function tooLarge(name: string, bytes: number): FileError {
  return unreadable(name, `the file has ${bytes} bytes, the maximum is ${MAX_BYTES}`, START);
}

export function unreadable(file: string, message: string, place?: Place): FileError {
  return new FileError([diagnosticOn(file, message, place)]);
}

function diagnosticOn(file: string, message: string, place?: Place): Diagnostic {
  return diagnostic({ rule: 'unreadable-file', file, place, path: '', message });
}

/** The path relative to the working directory, if the file is below it. */
export function displayName(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}

/**
 * Whether the file is not in the folder, or is a link to one with another name: whoever wrote the link may not be allowed to
 * read that file, so what it says must not be shown. Kubernetes links files of a ConfigMap to others with their name below.
 */
export function isElsewhere(path: string, folder = dirname(path)): boolean {
  try {
    const real = realpathSync(path);
    const home = realpathSync(folder);
    const isBelow = real.startsWith(home.endsWith(sep) ? home : home + sep);
    return !isBelow || basename(real) !== basename(path);
  } catch {
    return false;
  }
}

export const NOT_SHOWN =
  'has mistakes that are not shown, because a link or an include leads to it: name that file itself';

export function notShown(file: string): Diagnostic {
  return diagnosticOn(file, NOT_SHOWN, START);
}
