/** Turns failures of Redis into StoreErrors: errors by their reason, and replies that are late. */
import { StoreError, type StoreErrorReason } from '../../core/counting/store.ts';

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

/** A change is not sent unless it can be confirmed. Throws a StoreError. */
export function requireConnection({ status }: { readonly status: string }): void {
  if (status !== 'ready') throw new StoreError('refused', 'Redis is not connected');
}

/** Throws a StoreError. */
export function listIn(reply: unknown): unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new StoreError('malformed', 'Redis replied with something other than a list');
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

// ioredis gives its own errors no code, so their texts decide, as ioredis/repairs.ts lists them.

function isUndecodable({ message }: Error): boolean {
  return message.endsWith('. Please report this.');
}

/** The server has fewer databases than the number in the URL. ioredis would continue with the first one. */
export function isUnknownDatabase({ message }: Error): boolean {
  return message.includes('DB index');
}

/** A reply came without a command, so later replies may be assigned to the wrong commands. */
export function isOutOfStep({ message }: Error): boolean {
  return message.startsWith('Command queue state error');
}

/** Rejects with a StoreError (`timeout`). Redis may still run the command later, and count the request. */
export async function withDeadline<T>(reply: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const giveUp = () => reject(tooLate(deadlineMs));
    // If this process itself was late, the reply may have arrived but is read only after the timers.
    timer = setTimeout(() => setImmediate(giveUp), deadlineMs);
  });
  try {
    return await Promise.race([reply, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** As `withDeadline`. Rejects with a StoreError for every failure. */
export async function inTime<T>(reply: Promise<T>, deadlineMs: number): Promise<T> {
  try {
    return await withDeadline(reply, deadlineMs);
  } catch (cause) {
    throw storeErrorFrom(cause);
  }
}

function tooLate(deadlineMs: number): StoreError {
  return new StoreError('timeout', `Redis did not answer within ${deadlineMs} ms`);
}

interface Call {
  readonly dueMs: number;
  readonly onLate: (error: StoreError) => void;
  hasEnded: boolean;
}

/** All calls of a store have the same deadline, so the oldest ends first, and one timer is enough for all. */
export class CallDeadlines {
  readonly #deadlineMs: number;
  /** Oldest first. Calls that have ended leave when they come first. */
  readonly #calls: Call[] = [];
  #isTimed = false;

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Call this when a call begins, and the returned function when it ends. That function returns false if the call has
   * ended before, because it was late. `onLate` gets a StoreError (`timeout`).
   */
  begin(onLate: (error: StoreError) => void): () => boolean {
    const call: Call = { dueMs: performance.now() + this.#deadlineMs, onLate, hasEnded: false };
    this.#forgetAnswered();
    this.#calls.push(call);
    if (!this.#isTimed) this.#checkAfter(this.#deadlineMs);
    return () => {
      const isFirstEnd = !call.hasEnded;
      call.hasEnded = true;
      return isFirstEnd;
    };
  }

  #checkAfter(waitMs: number): void {
    this.#isTimed = true;
    setTimeout(() => this.#check(), waitMs).unref();
  }

  #check(): void {
    this.#isTimed = false;
    const nowMs = performance.now();
    this.#forgetAnswered();
    for (let call = this.#calls[0]; call !== undefined; call = this.#calls[0]) {
      if (call.dueMs > nowMs) {
        this.#checkAfter(Math.ceil(call.dueMs - nowMs));
        return;
      }
      this.#calls.shift();
      // If this process itself was late, the reply may have arrived but is read only after the timers.
      setImmediate(() => this.#end(call));
    }
  }

  #end(call: Call): void {
    if (call.hasEnded) return;
    call.hasEnded = true;
    call.onLate(tooLate(this.#deadlineMs));
  }

  #forgetAnswered(): void {
    while (this.#calls[0]?.hasEnded) this.#calls.shift();
  }
}
