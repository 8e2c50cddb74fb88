/** How connections to Redis are opened and replaced, whichever client has them. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { RedisTarget } from '../../config/settings/redis-url.ts';
import { readText } from '../../config/text-file.ts';

/** What CLIENT LIST shows. */
export const CONNECTION_NAME = 'headgate';

/** Delays between attempts to reconnect, milliseconds: short at first, and never long, so that recovery is noticed soon. */
export const FIRST_RETRY_MS = 25;
export const LONGEST_RETRY_MS = 300;
const RETRY_JITTER_MS = 100;

export const CONNECT_TIMEOUT_MS = 500;
export const KEEP_ALIVE_MS = 10_000;
/** How long a server may take to close its end of a connection that we close. */
export const LEAVE_WITHIN_MS = 50;
const SILENCE_MS = 500;

/** A connection without a reply for this time is closed. At least as long as the deadline of a request. */
export function silenceMs(deadlineMs: number): number {
  return Math.max(SILENCE_MS, deadlineMs);
}

export function retryAfter(attempt: number): number {
  const backoff = Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 10), LONGEST_RETRY_MS);
  return backoff + Math.random() * RETRY_JITTER_MS;
}

/** The files are read for each connection, so files that are replaced apply to the next one. Throws a FileError. */
export function tlsOptions({ tlsFiles }: Pick<RedisTarget, 'tlsFiles'>): ConnectionOptions {
  const options: ConnectionOptions = {};
  const define = (name: 'ca' | 'cert' | 'key', path: string | undefined) => {
    if (path === undefined) return;
    Object.defineProperty(options, name, { enumerable: true, get: reread(path) });
  };
  define('ca', tlsFiles?.ca);
  define('cert', tlsFiles?.certificate);
  define('key', tlsFiles?.key);
  return options;
}

/** The text of the file now or, while it cannot be read, the last one: ioredis would not connect again after an error. */
function reread(path: string): () => string {
  let known = readText(path);
  return () => {
    try {
      known = readFileSync(path, 'utf8');
    } catch {}
    return known;
  };
}
