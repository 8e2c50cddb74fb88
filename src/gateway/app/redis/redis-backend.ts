import type { RedisTarget } from '../../config/settings/redis-url.ts';
import { RedisKeyStore } from '../../keys/redis-key-store.ts';
import { RedisOverrideStore } from '../../stores/overrides/redis-override-store.ts';
import { type Connection, createRedisClient } from '../../stores/redis/client.ts';
import { whenAllReady } from '../../stores/redis/counting-connection.ts';
import { createReplicas, PeerGateways } from '../../stores/redis/peers.ts';
import { openCountingConnection } from '../../stores/redis/resp/resp-client.ts';
import { TAKE_SCRIPT_SHA } from '../../stores/redis/take-script.ts';
import { redisSaltVault } from '../../stores/salts/redis-salt-vault.ts';
import { SaltBooks } from '../../stores/salts/salt-sources.ts';
import type { Backend, BackendEvents } from '../backend.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { StoreMonitor } from '../store-monitor.ts';
import { createGuardedCounting } from './guarded-counting.ts';
import { createHeartbeat, firstContact, watchReplicas } from './heartbeat.ts';
import { listenToPeers } from './peer-listener.ts';
import { redisStats, redisVersion, watchMemory, windowSampling } from './usage.ts';

export interface RedisBackendOptions extends Omit<GatewayOptions, 'policies'> {
  readonly target: RedisTarget;
  readonly events: BackendEvents;
  readonly monitor: StoreMonitor;
}

export function inRedis(options: RedisBackendOptions): Backend {
  const { target, environment, events, monitor, telemetry, now, resources } = options;
  const deadlineMs = environment.storeTimeoutMs;
  telemetry.store.scriptInUse(TAKE_SCRIPT_SHA);

  const { decisions, peers } = telemetry;
  const opened = openConnections(options);
  const { client, connection, subscriber, onConnected } = opened;
  const salts = new SaltBooks(redisSaltVault(client));
  const counting = resources.addClosable(
    createGuardedCounting({
      ...{ ...opened, target, environment, monitor, decisions, salts },
      onUnsettled: events.onUnsettled,
    }),
  );
  const heartbeat = resources.addClosable(
    createHeartbeat({
      onCounted: watchReplicas({ ...environment, onMore: peers.moreThanReplicas }),
      replicas: createReplicas({
        connection,
        assumed: {
          count: environment.replicas * environment.workers,
          rank: environment.worker ?? 0,
        },
        now: () => performance.now(),
      }),
      deadlineMs,
      monitor,
    }),
  );
  const sampling = resources.addClosable(windowSampling(client, telemetry.store.windowsCounted));
  const memory = resources.addClosable(watchMemory(client, telemetry.store));

  const gateways = new PeerGateways({
    client,
    database: target.database,
    count: () => heartbeat.place().count,
    replyTo: events.replyTo,
  });
  const { denialCache } = counting;
  listenToPeers({
    ...{ subscriber, gateways, denialCache, events, telemetry: peers },
    restoreSalts: () => salts.restore(now()),
  });

  return {
    store: counting.store,
    reader: counting.reader,
    overrideStore: new RedisOverrideStore({ client, deadlineMs, now }),
    keyStore: new RedisKeyStore({ client, connection, events: telemetry.keys }),
    salts,
    place: heartbeat.place,
    queryAll: (query) => gateways.queryAll(query),
    version: redisVersion(client, () => performance.now()),
    stats: () => redisStats(client),
    async connect(onContact) {
      const store = await firstContact({
        onConnected,
        heartbeat,
        monitor,
        async onContact() {
          void sampling.sample();
          await Promise.all([memory.sample(), onContact()]);
        },
      });
      return store === 'counts' && memory.mayEvict() ? 'evicts' : store;
    },
  };
}

/** `onConnected` calls back for each new connection, once everything can be sent. */
function openConnections({
  target,
  environment,
  monitor,
  telemetry,
  resources,
}: RedisBackendOptions) {
  const shared = { target, deadlineMs: environment.storeTimeoutMs };
  const open = <T extends Connection>(connection: T): T =>
    resources.add(connection, (opened) => opened.disconnect());
  const onError = monitor.connectionFailed;
  // The same outage breaks both connections to a single Redis. The one that counts reports it.
  const isSingle = target.kind === 'single';
  const client = open(createRedisClient({ ...shared, onError: isSingle ? () => {} : onError }));
  const connection = open(openCountingConnection({ ...shared, client, onError }));
  const { othersUnheard } = telemetry.peers;
  const subscriber = open(createRedisClient({ ...shared, onError: othersUnheard }));
  const onConnected = (act: () => void) =>
    whenAllReady(isSingle ? [connection, client] : [client], act);
  let isContacted = false;
  onConnected(() => {
    isContacted = true;
  });
  return { client, connection, subscriber, onConnected, hadContact: () => isContacted };
}
