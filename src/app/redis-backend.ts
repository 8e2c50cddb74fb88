/** Counting in Redis, with all that keeps it from becoming an outage. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../config/settings/environment.ts';
import type { RedisTarget } from '../config/settings/redis-target.ts';
import { RedisSaltVault } from '../salts/redis-salt-vault.ts';
import { SaltBooks } from '../salts/salt-books.ts';
import { Breaker } from '../stores/breaker.ts';
import { DenialCache } from '../stores/denial-cache.ts';
import { GuardedStore } from '../stores/guarded-store.ts';
import { Overload } from '../stores/overload.ts';
import { Allowance } from '../stores/redis/allowance.ts';
import { atMostEvery } from '../stores/redis/at-most-every.ts';
import { listenTo, OVERRIDES_CHANNEL, RESET_CHANNEL } from '../stores/redis/channels.ts';
import { createRedisClient, type RedisClient } from '../stores/redis/client.ts';
import { withDeadline } from '../stores/redis/deadline.ts';
import { storeErrorFrom } from '../stores/redis/errors.ts';
import { InFlight } from '../stores/redis/in-flight.ts';
import { describeServers, sampleKeyspace } from '../stores/redis/keyspace.ts';
import { PeerGateways } from '../stores/redis/peer-gateways.ts';
import { RedisOverrideStore } from '../stores/redis/redis-override-store.ts';
import type { RedisStoreOptions } from '../stores/redis/redis-store.ts';
import { HEARTBEAT_MS, Replicas } from '../stores/redis/replicas.ts';
import { keysIn } from '../stores/redis/resets.ts';
import { storeOfTarget } from '../stores/redis/store-of-target.ts';
import { TAKE_SCRIPT_SHA } from '../stores/redis/take-script.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Backend, BackendEvents, StoreAtStart } from './backend.ts';

/** How long a start waits for Redis. It goes on without: Redis may come later. */
const FIRST_CONTACT_MS = 500;
/** The first command of a process is its slowest: one that came too late is tried again. */
const FIRST_RETRY_MS = 25;
const MAX_IN_FLIGHT = 5_000;
/** Timers are as late as that by themselves. */
const LEAST_LATENESS_MS = 5;

/** Whoever may publish there must not keep a gateway busy. Every reset clears the cached denials, whatever it names. */
const NOTICES_EVERY_MS = 100;
const RESETS_READ_PER_SECOND = 50;

/** How often it is estimated what the counts take up. */
const SAMPLE_MS = 10_000;
/** Operators wait longer than requests. */
const STATS_WITHIN_MS = 2_000;

export function inRedis(
  target: RedisTarget,
  environment: Environment,
  events: BackendEvents,
  telemetry: Telemetry,
  now: () => number,
): Backend {
  const connection = {
    target,
    deadlineMs: environment.storeTimeoutMs,
    onError: telemetry.storeConnectionFailed,
  };
  const client = createRedisClient(connection);
  telemetry.scriptInUse(TAKE_SCRIPT_SHA);
  const breaker = new Breaker({
    probe: () => withDeadline(isAnswering(client), environment.storeTimeoutMs),
    onSilence: () => client.disconnect(true),
    onOpen: telemetry.storeGivenUp,
    onStillOpen: (error) => telemetry.storeFailed(storeErrorFrom(error).reason, error),
    onClose: telemetry.storeProbed,
  });
  const overload = new Overload({
    now: () => performance.now(),
    // Later than that, and the answer may not be read before its deadline.
    limitMs: Math.max(environment.storeTimeoutMs / 2, LEAST_LATENESS_MS),
    onShed: telemetry.requestShed,
  });
  const options: RedisStoreOptions = {
    client,
    inFlight: new InFlight(MAX_IN_FLIGHT),
    deadlineMs: environment.storeTimeoutMs,
    onBatch(durationMs, requests) {
      breaker.succeeded();
      telemetry.storeAnswered(durationMs, requests);
    },
    onError(reason, cause) {
      breaker.failed(reason);
      telemetry.storeFailed(reason, cause);
    },
  };
  const redis = storeOfTarget(target, options);
  const counting = new GuardedStore(redis, [breaker, overload]);
  const replicas = new Replicas({
    client,
    assumed: {
      count: environment.replicas * environment.workers,
      rank: environment.worker ?? 0,
    },
    now: () => performance.now(),
  });
  const beat = () => withDeadline(replicas.beat(), environment.storeTimeoutMs);
  const beatLost = (error: unknown) => {
    replicas.lostTouch();
    telemetry.heartbeatLost(error);
  };
  const heartbeat = setInterval(
    () => void beat().then(telemetry.heartbeatTaken, beatLost),
    HEARTBEAT_MS,
  ).unref();
  const denials =
    environment.rememberedDenials > 0
      ? new DenialCache({
          store: counting,
          now: () => performance.now(),
          maxEntries: environment.rememberedDenials,
          onRemembered: telemetry.denialRemembered,
        })
      : undefined;
  const gateways = new PeerGateways({
    client,
    count: () => replicas.place.count,
    answer: events.answer,
  });
  const subscriber = createRedisClient({ ...connection, onError: telemetry.othersUnheard });
  const resetsToRead = new Allowance(RESETS_READ_PER_SECOND);
  listenTo([RESET_CHANNEL], subscriber, {
    onListening: () => denials?.enable(),
    onDeaf(reason) {
      denials?.disable();
      if (reason !== undefined) telemetry.othersUnheard(reason);
    },
    onMessage(message) {
      denials?.forget();
      if (resetsToRead.take()) events.onReset(keysIn(message));
    },
  });
  const readOverrides = atMostEvery(NOTICES_EVERY_MS, events.onOverridesChanged);
  listenTo([OVERRIDES_CHANNEL, ...gateways.channels], subscriber, {
    // What was said meanwhile was not heard.
    onListening: readOverrides,
    onDeaf: (reason) => reason !== undefined && telemetry.othersUnheard(reason),
    onMessage(message, channel) {
      if (channel === OVERRIDES_CHANNEL) readOverrides();
      else void gateways.onMessage(channel, message);
    },
  });
  const sample = () =>
    void withDeadline(sampleKeyspace(client, false), STATS_WITHIN_MS).then(
      ({ activeWindows }) => telemetry.windowsCounted(activeWindows),
      // A store that is away is told of already; an account that may not scan has no such metric.
      () => {},
    );
  const sampling = setInterval(sample, SAMPLE_MS).unref();
  return {
    store: denials ?? counting,
    reader: redis,
    overrideStore: new RedisOverrideStore({ client, deadlineMs: environment.storeTimeoutMs, now }),
    queryAll: (question) => gateways.ask(question),
    stats: async () => {
      const asked = Promise.all([sampleKeyspace(client, true), describeServers(client)]);
      const [keyspace, servers] = await withDeadline(asked, STATS_WITHIN_MS).catch(
        (cause: unknown) => Promise.reject(storeErrorFrom(cause)),
      );
      return { store: 'redis', gateways: replicas.place.count, keyspace, servers };
    },
    salts: new SaltBooks((periodMs) => new RedisSaltVault(client, periodMs)),
    place: () => replicas.place,
    connect: (onContact) =>
      new Promise((resolve) => {
        let found: StoreAtStart = 'unreachable';
        let isStarting = true;
        const start = () => {
          isStarting = false;
          resolve(found);
        };
        const patience = setTimeout(start, FIRST_CONTACT_MS);
        /** A connected server may still refuse to count: it is full or read-only, or this account lacks rights. */
        const firstBeat = async (): Promise<void> => {
          try {
            await beat();
            found = 'counts';
            telemetry.storeConnected();
          } catch (error) {
            if (!isStarting) return beatLost(error);
            await sleep(FIRST_RETRY_MS);
            return firstBeat();
          }
        };
        client.on('ready', async () => {
          replicas.lostTouch();
          if (found === 'unreachable') found = 'refuses';
          const beaten = firstBeat();
          sample();
          await Promise.all([beaten, onContact()]);
          clearTimeout(patience);
          start();
        });
      }),
    close: async () => {
      clearInterval(heartbeat);
      clearInterval(sampling);
      overload.close();
      breaker.close();
      client.disconnect();
      subscriber.disconnect();
    },
  };
}

/** Rejects with what Redis says against it. An account that may not ask has been answered. */
async function isAnswering(client: RedisClient): Promise<void> {
  try {
    await client.ping();
  } catch (error) {
    if (storeErrorFrom(error).reason !== 'noperm') throw error;
  }
}
