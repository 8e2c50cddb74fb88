/** Reports to the other gateways every two seconds that this one is alive, so that each knows its share of a limit. */

import { setTimeout as sleep } from 'node:timers/promises';
import { storeErrorFrom, withDeadline } from '../../stores/redis/failures.ts';
import { HEARTBEAT_MS, type Replicas } from '../../stores/redis/peers.ts';
import type { StoreAtStart } from '../backend.ts';
import type { StoreMonitor } from '../store-monitor.ts';

export interface HeartbeatOptions {
  readonly replicas: Pick<Replicas, 'beat' | 'lostTouch' | 'place'>;
  readonly deadlineMs: number;
  readonly monitor: Pick<StoreMonitor, 'heartbeatAccepted' | 'heartbeatLost'>;
  /** Called after each accepted beat, with the number of gateways that count together. */
  readonly onCounted: (gateways: number) => void;
}

type Heartbeat = ReturnType<typeof createHeartbeat>;

export function createHeartbeat(options: HeartbeatOptions) {
  const { replicas, deadlineMs, monitor, onCounted } = options;
  /** Rejects if Redis does not accept the heartbeat in time. */
  const beat = () => withDeadline(replicas.beat(), deadlineMs);
  /** Call this when a beat was rejected. */
  const lost = (error: unknown) => {
    replicas.lostTouch();
    monitor.heartbeatLost(error);
  };
  const beatAndReport = async () => {
    try {
      await beat();
    } catch (error) {
      lost(error);
      return;
    }
    monitor.heartbeatAccepted();
    onCounted(replicas.place().count);
  };
  const timer = setInterval(() => void beatAndReport(), HEARTBEAT_MS).unref();
  return {
    beat,
    lost,
    place: replicas.place,
    /** Call this for each new connection: Redis may have forgotten gateways meanwhile. */
    reconnected: replicas.lostTouch,
    close: () => clearInterval(timer),
  };
}

/** Beats of the heartbeat for which it must be so. A gateway that replaces another runs beside it for a while. */
const SETTLED_BEATS = 15;

interface ReplicasWatchOptions {
  readonly replicas: number;
  /** Each worker of this gateway counts as a gateway. */
  readonly workers: number;
  /** The number of this worker. The first one reports for all. */
  readonly worker?: number | undefined;
  /** Called once, with the number of gateways. */
  readonly onMore: (gateways: number) => void;
}

/**
 * Notices that several gateways count together while HEADGATE_REPLICAS says that there is one. Call what this returns for each heartbeat, with the
 * number of processes that count together.
 */
export function watchReplicas(options: ReplicasWatchOptions): (processes: number) => void {
  const { replicas, workers, worker = 0, onMore } = options;
  let beats = 0;
  return (processes) => {
    beats = replicas === 1 && worker === 0 && processes > workers ? beats + 1 : 0;
    if (beats === SETTLED_BEATS) onMore(Math.ceil(processes / workers));
  };
}

const PATIENCE_MS = 500;
/** How long the start waits once Redis counts: gateways may have to agree on salts first. */
const AGREEMENT_MS = 5_000;
/** The first command of a process is its slowest, so a first heartbeat may be late and is tried again. */
const RETRY_MS = 25;

export interface FirstContactOptions {
  /** Calls `act` for each new connection, once everything can be sent. */
  readonly onConnected: (act: () => void) => void;
  /** The first write shows whether Redis counts: it may be full or read-only, or the account may lack permissions. */
  readonly heartbeat: Pick<Heartbeat, 'beat' | 'lost' | 'reconnected'>;
  readonly monitor: Pick<StoreMonitor, 'connected'>;
  /** Called for each new connection, not only for the first. Resolves once this gateway has what others share. */
  readonly onContact: () => Promise<void>;
}

/** Resolves once Redis counts and `onContact` is done, or when the start should not wait any longer. */
export function firstContact(options: FirstContactOptions): Promise<StoreAtStart> {
  const { onConnected, heartbeat, monitor, onContact } = options;
  const { promise, resolve } = Promise.withResolvers<StoreAtStart>();
  let found: StoreAtStart = 'unreachable';
  let isStarting = true;
  const endStart = () => {
    isStarting = false;
    resolve(found);
  };
  let patience = setTimeout(endStart, PATIENCE_MS);

  const beatUntilItCounts = async (): Promise<boolean> => {
    try {
      await heartbeat.beat();
    } catch (error) {
      if (storeErrorFrom(error).reason === 'nolua') found = 'runs-no-lua';
      if (isStarting) {
        await sleep(RETRY_MS);
        return beatUntilItCounts();
      }
      heartbeat.lost(error);
      return false;
    }
    found = 'counts';
    if (isStarting) {
      clearTimeout(patience);
      patience = setTimeout(endStart, AGREEMENT_MS);
    }
    return true;
  };

  onConnected(async () => {
    heartbeat.reconnected();
    if (found === 'unreachable') found = 'refuses';
    const [counts] = await Promise.all([beatUntilItCounts(), onContact()]);
    if (counts) monitor.connected();
    clearTimeout(patience);
    endStart();
  });
  return promise;
}
