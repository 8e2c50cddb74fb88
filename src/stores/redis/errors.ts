/** What went wrong in Redis, in one word each. */
import { StoreError, type StoreErrorReason } from '../../core/store.ts';

/** How the reply of a server that refuses begins (https://redis.io/docs/latest/develop/reference/protocol-spec/). */
const REASON_BY_PREFIX: Readonly<Record<string, StoreErrorReason>> = {
  LOADING: 'loading',
  MASTERDOWN: 'clusterdown',
  CLUSTERDOWN: 'clusterdown',
  TRYAGAIN: 'clusterdown',
  READONLY: 'readonly',
  OOM: 'oom',
  MISCONF: 'misconf',
  BUSY: 'busy',
  NOSCRIPT: 'noscript',
  NOAUTH: 'noperm',
  NOPERM: 'noperm',
  WRONGPASS: 'wrongpass',
  WRONGTYPE: 'wrongtype',
};

/** How Redis 6.2 begins what went wrong inside of a script. */
const INSIDE_SCRIPT = /^ERR Error running script \(call to f_\w+\): (@?user_script: ?\d+: )*-?/;
/** How ioredis ends the errors of its decoder. */
const UNDECODABLE = '. Please report this.';

export function storeErrorFrom(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return new StoreError(reasonOf(error, name, message), 'Redis did not take the request', {
    cause: error,
  });
}

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function reasonOf(error: unknown, name: string, message: string): StoreErrorReason {
  // A refusal by the server. Inside a script it is preceded by ERR, or followed by the script's name.
  if (name === 'ReplyError') {
    for (const word of message.replace(INSIDE_SCRIPT, '').split(' ', 2)) {
      const reason = REASON_BY_PREFIX[word];
      if (reason !== undefined) return reason;
    }
    return 'other';
  }
  if (message.endsWith(UNDECODABLE)) return 'malformed';
  return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'connection';
}
