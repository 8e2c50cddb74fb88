import type { RedisTarget } from '../../config/settings/redis-url.ts';
import { RedisOverrideStore } from '../../stores/overrides/redis-override-store.ts';
import { createRedisClient } from '../../stores/redis/client.ts';
import { openCountingConnection, whenAllReady } from '../../stores/redis/counting-connection.ts';
import { createReplicas, PeerGateways } from '../../stores/redis/peers.ts';
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

  const connect = (onError: (error: Error) => void) =>
    resources.add(createRedisClient({ target, deadlineMs, onError }), (opened) =>
      opened.disconnect(),
    );
  const isSingle = target.kind === 'single';
  // The same outage breaks both connections to a single Redis, and is reported by the one that counts.
  const client = connect(isSingle ? () => {} : monitor.connectionFailed);
  const connection = resources.add(
    openCountingConnection({ target, client, deadlineMs, onError: monitor.connectionFailed }),
    (opened) => opened.disconnect(),
  );
  const { decisions, peers } = telemetry;
  const subscriber = connect(peers.othersUnheard);
  const salts = new SaltBooks(redisSaltVault(client));
  const counting = resources.addClosable(
    createGuardedCounting({ client, connection, target, environment, monitor, decisions, salts }),
  );
  const heartbeat = resources.addClosable(
    createHeartbeat({
      onCounted: watchReplicas({ ...environment, onMore: peers.moreThanReplicas }),
      replicas: createReplicas({
        client: connection,
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
    salts,
    place: heartbeat.place,
    queryAll: (query) => gateways.queryAll(query),
    version: redisVersion(client, () => performance.now()),
    stats: () => redisStats(client),
    async connect(onContact) {
      const store = await firstContact({
        onConnected: (act) => whenAllReady(isSingle ? [connection, client] : [client], act),
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
