/** Does to Redis what gateways do, under keys of its own that are deleted, and says what cannot be done. */
import { randomUUID } from 'node:crypto';
import calculateSlot from 'cluster-key-slot';
import type { RedisTarget } from '../config/settings/redis-target.ts';
import type { Descriptor, Quota, QuotaStore } from '../core/store.ts';
import {
  listenTo,
  OVERRIDES_CHANNEL,
  QUERIES_CHANNEL,
  RESET_CHANNEL,
} from '../stores/redis/channels.ts';
import { createRedisClient, type RedisClient } from '../stores/redis/client.ts';
import { withDeadline } from '../stores/redis/deadline.ts';
import { InFlight } from '../stores/redis/in-flight.ts';
import { sampleKeyspace } from '../stores/redis/keyspace.ts';
import { untilReady } from '../stores/redis/ready.ts';
import {
  READ_OVERRIDES_SCRIPT,
  WRITE_OVERRIDES_SCRIPT,
} from '../stores/redis/redis-override-store.ts';
import { REPLICAS_SCRIPT } from '../stores/redis/replicas.ts';
import { storeOfTarget } from '../stores/redis/store-of-target.ts';
import { REPLY_TIMEOUT_MS } from './contact.ts';
import { fault, fine, type PlacedFinding, warning } from './finding.ts';
import { refusalText } from './refusals.ts';

/** Should the examination be cut short, its keys go by themselves. */
const LIFETIME_MS = 10_000;
const MAX_TAKES = 10;
/** Tags that are tried for one in the slots of a node: enough for a node that has only one. */
const MAX_TAGS = 200_000;

/** Costs and limit such that three takes reach every command of the script. */
const LOG: Quota = {
  algorithm: 'sliding-window-log',
  limit: 3,
  burst: 3,
  windowMs: LIFETIME_MS,
  countRejected: true,
};
const LOG_COST = 2;
const LOG_TAKES = 3;

/** True for slots that a server holds. */
export type Holds = (slot: number) => boolean;

/** The connections of a gateway. */
export class Trial {
  readonly #client: RedisClient;
  readonly #subscriber: RedisClient;
  readonly #heard: Promise<void>;
  readonly #store: QuotaStore;
  #lastError: Error | undefined;

  constructor(target: RedisTarget) {
    const connection = {
      target,
      deadlineMs: REPLY_TIMEOUT_MS,
      onError: (error: Error) => {
        this.#lastError = error;
      },
    };
    this.#client = createRedisClient(connection);
    this.#subscriber = createRedisClient({ ...connection, onError: () => {} });
    this.#heard = hears(this.#subscriber);
    // Asked about later, or never.
    this.#heard.catch(() => {});
    const options = {
      client: this.#client,
      inFlight: new InFlight(MAX_TAKES),
      deadlineMs: REPLY_TIMEOUT_MS,
    };
    this.#store = storeOfTarget(target, options);
  }

  close(): void {
    this.#client.disconnect();
    this.#subscriber.disconnect();
  }

  /** Of a server that was reached already: there, counting is what may go wrong. */
  async *counting(holds: Holds): AsyncGenerator<PlacedFinding> {
    let tag: string;
    try {
      tag = tagFor(holds);
      await untilReady(this.#client, {
        withinMs: REPLY_TIMEOUT_MS,
        connectionError: () => this.#lastError,
      });
      await this.#take(tag);
    } catch (error) {
      yield fault(refusalText(error));
      return;
    }
    yield fine('takes are counted');
    yield* without('while Redis is away, HEADGATE_REPLICAS alone says who shares a limit', () =>
      this.#beat(tag),
    );
    yield* without('operators can neither block or exempt a client nor change a mode', () =>
      this.#put(tag),
    );
    yield* without('nobody knows how many windows are counted', () => this.#look());
    yield* without('without HEADGATE_IP_SALT_SECRET, no limit of addresses is shared', () =>
      this.#share(tag),
    );
  }

  /** Once for all servers: they tell each other. */
  hearing(): AsyncGenerator<PlacedFinding> {
    return without(
      'denials are not remembered, each asks Redis, and gateways follow operators seconds later',
      () => this.#heard,
    );
  }

  /** Of every algorithm, by the script that counts requests. */
  async #take(tag: string): Promise<void> {
    const log: Descriptor = { key: keyOf(tag, 'log'), quota: LOG, cost: LOG_COST };
    const others = (['sliding-window-counter', 'token-bucket'] as const).map((algorithm) => ({
      key: keyOf(tag, algorithm),
      quota: { ...LOG, algorithm },
      cost: 1,
    }));
    const keys = [log, ...others].map(({ key }) => key);
    try {
      for (let i = 0; i < LOG_TAKES; i++) await this.#store.take([log]);
      await this.#store.take(others);
    } catch (error) {
      await this.#delete(keys).catch(() => {});
      throw error;
    }
    // The script deletes keys as well, so this is a right that takes need.
    await this.#delete(keys);
  }

  async #beat(tag: string): Promise<void> {
    const key = keyOf(tag, 'replicas');
    await this.#client.eval(REPLICAS_SCRIPT, 1, key, randomUUID(), LIFETIME_MS);
    await this.#delete([key]);
  }

  /** Puts a notice up, and takes it down. Gateways that hear of it find nothing new. */
  async #put(tag: string): Promise<void> {
    const key = keyOf(tag, 'notices');
    for (const lifetimeMs of [LIFETIME_MS, 0]) {
      const values = [OVERRIDES_CHANNEL, 1, 0, 'trial', lifetimeMs, '{}'];
      await this.#client.eval(WRITE_OVERRIDES_SCRIPT, 1, key, ...values);
    }
    await this.#client.eval(READ_OVERRIDES_SCRIPT, 1, key);
    await this.#delete([key]);
  }

  async #look(): Promise<void> {
    await sampleKeyspace(this.#client, true);
  }

  async #share(tag: string): Promise<void> {
    const key = keyOf(tag, 'salt');
    await this.#client.set(key, '', 'PX', LIFETIME_MS, 'NX');
    await this.#client.get(key);
    await this.#delete([key]);
  }

  /** One by one, as resets do. */
  async #delete(keys: readonly string[]): Promise<void> {
    await withDeadline(Promise.all(keys.map((key) => this.#client.del(key))), REPLY_TIMEOUT_MS);
  }
}

/** What is lost when something that gateways do cannot be done; gateways count all the same. */
async function* without(loss: string, act: () => Promise<unknown>): AsyncGenerator<PlacedFinding> {
  try {
    await withDeadline(act(), REPLY_TIMEOUT_MS);
  } catch (error) {
    yield warning(`${refusalText(error)}; without it, ${loss}`);
  }
}

/** Resolves once what gateways tell each other can be heard. */
function hears(subscriber: RedisClient): Promise<void> {
  return new Promise((resolve, reject) => {
    listenTo([RESET_CHANNEL, OVERRIDES_CHANNEL, QUERIES_CHANNEL], subscriber, {
      onListening: resolve,
      onMessage: () => {},
      onDeaf: (reason) => {
        if (reason !== undefined) reject(reason);
      },
    });
  });
}

function keyOf(tag: string, name: string): string {
  return `hg:v1:{${tag}}:${name}`;
}

/** A hash tag of the cluster whose slot the server holds. */
function tagFor(holds: Holds): string {
  const run = randomUUID();
  for (let i = 0; i < MAX_TAGS; i++) {
    const tag = `check-${run}-${i}`;
    if (holds(calculateSlot(tag))) return tag;
  }
  throw new RangeError('no key lies in the slots of this server');
}
