/** The Redis channels between gateways: their names, their messages, and bounds for what other programs may send. */
import { MAX_SETTLE_WITHIN_MS } from '../../core/counting/settlement.ts';
import type { RedisClient } from './client.ts';
import { type CountingConnection, callRedis } from './counting-connection.ts';
import { withDeadline } from './failures.ts';
import { readLuaScript } from './lua-script.ts';

/** Counters were reset. The message is a JSON list of the keys, or empty. */
export const RESET_CHANNEL = 'hg:v1:reset';
/** An override was stored or removed. The message is empty. */
export const OVERRIDES_CHANNEL = 'hg:v1:notices';
/** A gateway finds no salts and requests that the others write theirs back. The message is empty. */
export const SALTS_CHANNEL = 'hg:v1:salts';
/** Keys of the store were changed. The message is empty. */
export const KEYS_CHANNEL = 'hg:v1:keys';
export const QUERIES_CHANNEL = 'hg:v1:questions';

/** Characters. The longest messages of gateways are the names of 500 keys and the reports of 100 clients. */
const LONGEST_MESSAGE = 262_144;

export interface Listener {
  onListening(): void;
  /** A message that is too long to be from a gateway is passed on as an empty one. */
  onMessage(message: string, channel: string): void;
  /** Messages may be missed until `onListening` is called again. `reason` is missing if the connection closed. */
  onDeaf(reason?: unknown): void;
}

/** Each listener subscribes separately, because an account may lack the right to some channels. */
export function listenTo(
  channels: readonly string[],
  subscriber: RedisClient,
  listener: Listener,
): void {
  subscriber.on('ready', () => {
    subscriber.subscribe(...channels).then(
      () => listener.onListening(),
      // The connection broke, or the account has no right to subscribe.
      (error: unknown) => listener.onDeaf(error),
    );
  });
  subscriber.on('close', () => listener.onDeaf());
  // In a cluster the client may move its subscription to another node, and miss messages in between.
  subscriber.on('message', (channel: string, message: string) => {
    if (!channels.includes(channel)) return;
    listener.onMessage(message.length > LONGEST_MESSAGE ? '' : message, channel);
  });
}

const GROUP_SIZE = 500;

const RESET_SCRIPT = readLuaScript('reset');
const READ_SERVER_CLOCK = -1;

export interface Reset {
  readonly keys: readonly string[];
  /** Those of the keys beside which the moment is kept, so that settlements of earlier reservations do nothing. */
  readonly settled: readonly string[];
  /** Replaces the clock of the server in tests. */
  readonly nowMs: number | undefined;
}

/**
 * Deletes the keys, and announces it after that: a gateway that receives the message finds the counters reset. The
 * deadline, in milliseconds, applies to each group of 500 keys.
 */
export async function resetKeys(
  connection: CountingConnection,
  { keys, settled, nowMs = READ_SERVER_CLOCK }: Reset,
  deadlineMs: number,
): Promise<void> {
  const isSettled = new Set(settled);
  const reset = (key: string) =>
    isSettled.has(key)
      ? callRedis(
          connection,
          'eval',
          RESET_SCRIPT,
          2,
          key,
          `${key}:reset`,
          nowMs,
          MAX_SETTLE_WITHIN_MS,
        )
      : callRedis(connection, 'del', key);
  const resetGroup = async (group: readonly string[]) => {
    // One command per key, because in a cluster keys may be on different nodes.
    await Promise.all(group.map(reset));
    await callRedis(connection, 'publish', RESET_CHANNEL, JSON.stringify(group));
  };
  for (let first = 0; first < keys.length; first += GROUP_SIZE) {
    await withDeadline(resetGroup(keys.slice(first, first + GROUP_SIZE)), deadlineMs);
  }
}

export function keysIn(message: string): string[] {
  try {
    const keys: unknown = JSON.parse(message);
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
  } catch {
    return [];
  }
}

/**
 * Bounds how much work other programs can cause: what it returns says false once this second's number is used up. `now`:
 * milliseconds of a monotonic clock.
 */
export function allowance(perSecond: number, now = () => performance.now()): () => boolean {
  let left = 0;
  let sinceMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = now();
    if (nowMs - sinceMs >= 1_000) {
      sinceMs = nowMs;
      left = perSecond;
    }
    if (left === 0) return false;
    left--;
    return true;
  };
}

/** Runs a function at once, then at most once in `ms` milliseconds, and always once after the last call. */
export function atMostEvery(ms: number, act: () => void): () => void {
  let isCalled = false;
  let timer: NodeJS.Timeout | undefined;
  const run = () => {
    isCalled = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isCalled) run();
    }, ms).unref();
    act();
  };
  return () => {
    if (timer === undefined) run();
    else isCalled = true;
  };
}
