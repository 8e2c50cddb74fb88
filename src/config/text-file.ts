/** Reads the text of a file that an operator named, whatever is there. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { FileError } from './file-error.ts';
import type { Place } from './finding.ts';

/** What is larger is none of these files, and is not worth the time to read. */
const MAX_BYTES = 16 * 1024 * 1024;
const START: Place = { line: 1, column: 1 };

/** Throws a FileError that says, if it is known, by what the file is named. */
export function readText(path: string, namedBy?: string): string {
  try {
    // Opening a pipe would wait for somebody to write into it.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readRegularFile(file, displayName(path));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (cause instanceof FileError) throw cause;
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw unreadable(displayName(path), namedBy === undefined ? why : `${why}; ${namedBy}`);
  }
}

/** Throws a FileError for what has no end, or too late a one. */
function readRegularFile(file: number, name: string): string {
  const found = fstatSync(file);
  if (!found.isFile()) throw unreadable(name, 'cannot be read; it is no regular file');
  if (found.size > MAX_BYTES) {
    throw unreadable(name, `the file has ${found.size} bytes, the most is ${MAX_BYTES}`, START);
  }
  return readFileSync(file, 'utf8');
}

function unreadable(file: string, message: string, place?: Place): FileError {
  return new FileError([{ rule: 'unreadable-file', file, place, path: '', message }]);
}

/** As people in this folder would name it. */
export function displayName(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
