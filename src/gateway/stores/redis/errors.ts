/** Translates errors of Redis and ioredis to a StoreError with a reason. */
import { StoreError, type StoreErrorReason } from '../../core/counting/store.ts';
import { isUndecodable } from './ioredis/error-texts.ts';

/** Reasons by the first word of an error reply (https://redis.io/docs/latest/develop/reference/protocol-spec/). */
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

/** Redis 6.2 puts this before an error that occurred in a script. */
const INSIDE_SCRIPT = /^ERR Error running script \(call to f_\w+\): (@?user_script: ?\d+: )*-?/;
/** Valkey 9.1 without its module lua, and servers that have no scripts. */
const WITHOUT_LUA = /Could not find scripting engine|unknown command .evalsha?\b/i;

export function storeErrorFrom(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const reason = reasonOf(error instanceof Error ? error : new Error(String(error)));
  return new StoreError(reason, 'Redis failed', { cause: error });
}

/** For a change that must not be sent unless it can be confirmed. `status`: of the connection. */
export function requireConnection({ status }: { readonly status: string }): void {
  if (status !== 'ready') throw new StoreError('refused', 'Redis is not connected');
}

export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function reasonOf(error: Error): StoreErrorReason {
  const { name, message } = error;
  // An error reply. From inside a script, it comes after ERR or before the script's name.
  if (name === 'ReplyError') {
    for (const word of message.replace(INSIDE_SCRIPT, '').split(' ', 2)) {
      const reason = REASON_BY_PREFIX[word];
      if (reason !== undefined) return reason;
    }
    return WITHOUT_LUA.test(message) ? 'nolua' : 'other';
  }
  if (isUndecodable(error)) return 'malformed';
  return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'refused' : 'connection';
}
