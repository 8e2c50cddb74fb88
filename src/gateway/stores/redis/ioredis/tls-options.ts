/** The files of TLS connections to Redis. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { RedisTarget } from '../../../config/settings/redis-url.ts';
import { readText } from '../../../config/text-file.ts';

/** ioredis reads the values for each connection, so files that are replaced apply to the next one. Throws a FileError. */
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
    } catch {
      // It is being replaced.
    }
    return known;
  };
}
