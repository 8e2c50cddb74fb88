/** Counting in Redis with everything that keeps a slow or broken Redis from delaying requests. */
import type { Environment } from '../../config/settings/environment.ts';
import type { RedisTarget } from '../../config/settings/redis-url.ts';
import { StoreError } from '../../core/counting/store.ts';
import { DenialCache } from '../../stores/denial-cache.ts';
import {
  createBreaker,
  type Gate,
  guardedStore,
  watchOverload,
} from '../../stores/guarded-store.ts';
import { storeOfTarget } from '../../stores/redis/cluster-store.ts';
import { type CountingConnection, callRedis } from '../../stores/redis/counting-connection.ts';
import { storeErrorFrom, withDeadline } from '../../stores/redis/failures.ts';
import type { SaltBooks } from '../../stores/salts/salt-sources.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { BackendEvents } from '../backend.ts';
import type { StoreMonitor } from '../store-monitor.ts';

const MAX_IN_FLIGHT = 5_000;
/** Timers of a healthy process are up to so late. */
const LEAST_LATENESS_MS = 5;

export interface GuardedCountingOptions {
  readonly connection: CountingConnection;
  /** Whether all connections were open at once since the start. */
  readonly hadContact: () => boolean;
  readonly target: RedisTarget;
  readonly environment: Pick<Environment, 'storeTimeoutMs' | 'rememberedDenials'>;
  readonly monitor: StoreMonitor;
  readonly salts: Pick<SaltBooks, 'isAgreeing'>;
  readonly decisions: Pick<Telemetry['decisions'], 'requestShed' | 'denialRemembered'>;
  readonly onUnsettled: BackendEvents['onUnsettled'];
}

export function createGuardedCounting(options: GuardedCountingOptions) {
  const { connection, target, environment, monitor, decisions } = options;
  const deadlineMs = environment.storeTimeoutMs;
  const breaker = breakerFor(connection, deadlineMs, monitor);
  const overload = watchOverload({
    now: () => performance.now(),
    // If timers are later than that, an answer may not be read before its deadline.
    limitMs: Math.max(deadlineMs / 2, LEAST_LATENESS_MS),
    onShed: decisions.requestShed,
  });
  const redis = storeOfTarget(target, {
    connection,
    maxInFlight: MAX_IN_FLIGHT,
    onUnsettled: options.onUnsettled,
    deadlineMs,
    onBatch(durationMs, requests) {
      breaker.succeeded();
      if (requests > 0) monitor.answered(durationMs, requests);
      else monitor.probed();
    },
    onError(reason, cause, checks) {
      breaker.failed(reason);
      monitor.failed(reason, cause, checks);
    },
  });
  const guarded = guardedStore(redis, [breaker, overload, unlessAgreeing(options)], [breaker]);
  const denialCache =
    environment.rememberedDenials > 0
      ? new DenialCache({
          store: guarded,
          now: () => performance.now(),
          maxEntries: environment.rememberedDenials,
          onRemembered: decisions.denialRemembered,
        })
      : undefined;
  return {
    store: denialCache ?? guarded,
    /** Operators read past the guards. */
    reader: redis,
    denialCache,
    close() {
      overload.close();
      breaker.close();
    },
  };
}

const AGREEING = new StoreError('given_up', 'the gateways have not agreed on salts yet');

/** Counts under provisional salts would be lost in a moment. The connection that counts may open before that to the salts. */
function unlessAgreeing({ connection, hadContact, salts }: GuardedCountingOptions): Gate {
  const isProvisional = () => salts.isAgreeing || (!hadContact() && connection.status === 'ready');
  return { obstacle: () => (isProvisional() ? AGREEING : undefined) };
}

function breakerFor(connection: CountingConnection, deadlineMs: number, monitor: StoreMonitor) {
  return createBreaker({
    probe: () => withDeadline(ping(connection), deadlineMs),
    onSilence: () => connection.disconnect(true),
    onOpen: monitor.givenUp,
    onStillOpen: (error) => monitor.failed(storeErrorFrom(error).reason, error, 0),
    onClose: monitor.probed,
  });
}

/** Rejects with the error of Redis. An account without permission to ping got an answer, too. */
async function ping(connection: CountingConnection): Promise<void> {
  try {
    await callRedis(connection, 'ping');
  } catch (error) {
    if (storeErrorFrom(error).reason !== 'noperm') throw error;
  }
}
