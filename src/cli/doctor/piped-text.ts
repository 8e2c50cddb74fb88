/** Reads a file that may also be a pipe, such as `<(nginx -T)`, or standard input. */
import { createReadStream, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { readText } from '../../gateway/config/text-file.ts';

export const STANDARD_INPUT = '-';
/** Files that are read from disk have the same bound. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Rejects with a ConfigError if it cannot be read or is too large. */
export async function fileOrPipe(path: string): Promise<string> {
  if (path === STANDARD_INPUT) return bounded('standard input', process.stdin);
  return isPiped(path) ? bounded(path, createReadStream(path)) : readText(path);
}

export function isPiped(path: string): boolean {
  try {
    return path === STANDARD_INPUT || statSync(path).isFIFO();
  } catch {
    // Reading it says why.
    return false;
  }
}

async function bounded(name: string, stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes > MAX_BYTES) break;
    }
  } catch (error) {
    throw new ConfigError([`${name}: cannot be read: ${(error as Error).message}`]);
  }
  if (bytes > MAX_BYTES) throw new ConfigError([`${name}: has more than ${MAX_BYTES} bytes`]);
  return Buffer.concat(chunks).toString('utf8');
}
