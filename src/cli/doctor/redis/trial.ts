/** Does in Redis what gateways do, with keys that are deleted afterwards, and reports what fails. */
import { randomUUID } from 'node:crypto';
import calculateSlot from 'cluster-key-slot';
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { RedisTarget } from '../../../gateway/config/settings/redis-url.ts';
import type { SettlementStore } from '../../../gateway/core/counting/settlement.ts';
import {
  ALGORITHMS,
  type Descriptor,
  type Quota,
  type QuotaStore,
} from '../../../gateway/core/counting/store.ts';
import {
  READ_OVERRIDES_SCRIPT,
  WRITE_OVERRIDES_SCRIPT,
} from '../../../gateway/stores/overrides/redis-override-store.ts';
import {
  listenTo,
  OVERRIDES_CHANNEL,
  QUERIES_CHANNEL,
  RESET_CHANNEL,
} from '../../../gateway/stores/redis/channels.ts';
import {
  createRedisClient,
  type RedisClient,
  untilReady,
} from '../../../gateway/stores/redis/client.ts';
import { storeOfTarget } from '../../../gateway/stores/redis/cluster-store.ts';
import { withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { REPLICAS_SCRIPT } from '../../../gateway/stores/redis/peers.ts';
import { openCountingConnection } from '../../../gateway/stores/redis/resp/resp-client.ts';
import { sampleKeyspace } from '../../../gateway/stores/redis/server-state.ts';
import { REPLY_TIMEOUT_MS } from './contact.ts';
import { fault, fine, warning } from './diagnostics.ts';
import { refusalText } from './refusals.ts';

/** If the examination is interrupted, its keys expire after this time. */
const LIFETIME_MS = 10_000;
const MAX_TAKES = 10;
/** So many hash tags find one for a node with a single slot. */
const MAX_TAGS = 200_000;

/** With these costs and this limit, three takes run every command of the script. */
const LOG: Quota = {
  algorithm: 'sliding-window-log',
  limit: 3,
  burst: 3,
  windowMs: LIFETIME_MS,
  countRejected: true,
};
const LOG_COST = 2;
const LOG_TAKES = 3;

type Holds = (slot: number) => boolean;

export function openTrial(target: RedisTarget) {
  let lastError: Error | undefined;
  const onError = (error: Error) => {
    lastError = error;
  };
  const place = { target, deadlineMs: REPLY_TIMEOUT_MS };
  const client = createRedisClient({ ...place, onError });
  const connection = openCountingConnection({ ...place, client, onError });
  const subscriber = createRedisClient({ ...place, onError: () => {} });
  const subscribed = subscribes(subscriber);
  // Awaited later, or never.
  subscribed.catch(() => {});
  const options = { connection, maxInFlight: MAX_TAKES, deadlineMs: REPLY_TIMEOUT_MS };
  const store = storeOfTarget(target, options);
  return {
    /** Tries to count on a server that was already reached, then everything else that gateways do there. */
    async *counting(holds: Holds): AsyncGenerator<Diagnostic> {
      let tag: string;
      try {
        tag = tagFor(holds);
        const ready = { withinMs: REPLY_TIMEOUT_MS, connectionError: () => lastError };
        await Promise.all([untilReady(client, ready), untilReady(connection, ready)]);
        await take(store, client, tag);
      } catch (error) {
        yield fault(refusalText(error));
        return;
      }
      yield fine('requests are counted');
      const losses: Readonly<Record<string, () => Promise<unknown>>> = {
        'while Redis is down, only HEADGATE_REPLICAS decides how limits are shared': () =>
          beat(client, tag),
        'operators cannot block or exempt a client or change a mode': () => override(client, tag),
        'limits that refund stay charged': () => settle(store, client, tag),
        'the number of counted windows is unknown': () => sampleKeyspace(client, true),
        'limits per address are shared only if HEADGATE_IP_SALT_SECRET is set': () =>
          shareSalt(client, tag),
        'API keys cannot be kept in Redis (keys: redis)': () => keepKey(client, tag),
      };
      for (const [loss, act] of Object.entries(losses)) yield* without(loss, act);
    },
    /** Runs once for all servers, because a message reaches all of them. */
    subscribing: () =>
      without(
        'denials are not cached, so every denied request reaches Redis, and changes by operators take effect seconds later',
        () => subscribed,
      ),
    close() {
      client.disconnect();
      connection.disconnect();
      subscriber.disconnect();
    },
  };
}

async function take(store: QuotaStore, client: RedisClient, tag: string): Promise<void> {
  const log: Descriptor = { key: keyOf(tag, 'log'), quota: LOG, cost: LOG_COST };
  const others = ALGORITHMS.filter((each) => each !== LOG.algorithm).map((algorithm) => ({
    key: keyOf(tag, algorithm),
    quota: { ...LOG, algorithm },
    cost: 1,
  }));
  const keys = [log, ...others].map(({ key }) => key);
  try {
    for (let i = 0; i < LOG_TAKES; i++) await store.take([log]);
    await store.take(others);
  } catch (error) {
    await deleteKeys(client, keys).catch(() => {});
    throw error;
  }
  // The script also deletes keys, so takes need this right.
  await deleteKeys(client, keys);
}

/** Gives back the first of two requests. */
async function settle(
  store: QuotaStore & SettlementStore,
  client: RedisClient,
  tag: string,
): Promise<void> {
  const [key, id] = [keyOf(tag, 'settled-log'), 'trial'];
  const { nowMs } = await store.take([{ key, quota: LOG, cost: 1 }]);
  await store.take([{ key, quota: LOG, cost: 1 }]);
  const part = { key, quota: LOG, momentMs: nowMs, reserved: 1, used: 0 };
  try {
    await store.settle({ id, endsMs: nowMs + LIFETIME_MS, parts: [part] });
  } finally {
    await deleteKeys(client, [key, keyOf(tag, `settled:${id}`)]);
  }
}

/** Uses a key of the trial, because a further name among the real heartbeats would take a share of every limit. */
async function beat(client: RedisClient, tag: string): Promise<void> {
  const key = keyOf(tag, 'replicas');
  await client.eval(REPLICAS_SCRIPT, 1, key, randomUUID(), LIFETIME_MS);
  await deleteKeys(client, [key]);
}

/** Stores an override and removes it. Gateways that are notified find nothing new. */
async function override(client: RedisClient, tag: string): Promise<void> {
  const key = keyOf(tag, 'notices');
  for (const lifetimeMs of [LIFETIME_MS, 0]) {
    const values = [OVERRIDES_CHANNEL, 1, 0, 'trial', lifetimeMs, '{}'];
    await client.eval(WRITE_OVERRIDES_SCRIPT, 1, key, ...values);
  }
  await client.eval(READ_OVERRIDES_SCRIPT, 1, key);
  await deleteKeys(client, [key]);
}

async function shareSalt(client: RedisClient, tag: string): Promise<void> {
  const key = keyOf(tag, 'salt');
  await client.set(key, '', 'PX', LIFETIME_MS, 'NX');
  await client.get(key);
  await deleteKeys(client, [key]);
}

/** The commands for keys that nothing else needs. */
async function keepKey(client: RedisClient, tag: string): Promise<void> {
  const [index, changes] = [keyOf(tag, 'keys'), keyOf(tag, 'key-changes')] as const;
  await client.getrange(keyOf(tag, 'key'), 0, 0);
  await client.zadd(index, 0, 'a');
  await client.zrangebylex(index, '-', '+');
  await client.zrem(index, 'a');
  await client.xadd(changes, '*', 'a', 'a');
  await client.xrange(changes, '-', '+');
  await client.xrevrange(changes, '+', '-');
  await deleteKeys(client, [changes]);
}

async function deleteKeys(client: RedisClient, keys: readonly string[]): Promise<void> {
  await withDeadline(Promise.all(keys.map((key) => client.del(key))), REPLY_TIMEOUT_MS);
}

/** Warns what is lost if `act` fails. Gateways can count all the same. */
async function* without(loss: string, act: () => Promise<unknown>): AsyncGenerator<Diagnostic> {
  try {
    await withDeadline(act(), REPLY_TIMEOUT_MS);
  } catch (error) {
    yield warning(`${refusalText(error)}; without it, ${loss}`);
  }
}

function subscribes(subscriber: RedisClient): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  listenTo([RESET_CHANNEL, OVERRIDES_CHANNEL, QUERIES_CHANNEL], subscriber, {
    onListening: resolve,
    onMessage: () => {},
    onDeaf: (reason) => {
      if (reason !== undefined) reject(reason);
    },
  });
  return promise;
}

function keyOf(tag: string, name: string): string {
  return `hg:v1:{${tag}}:${name}`;
}

function tagFor(holds: Holds): string {
  const run = randomUUID();
  for (let i = 0; i < MAX_TAGS; i++) {
    const tag = `check-${run}-${i}`;
    if (holds(calculateSlot(tag))) return tag;
  }
  throw new RangeError('found no key in the slots of this server');
}
