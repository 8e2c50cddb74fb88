/** Waits for Redis when the gateway starts, but not for long: Redis may come later. */
import { setTimeout as sleep } from 'node:timers/promises';
import { storeErrorFrom } from '../../stores/redis/failures.ts';
import type { StoreAtStart } from '../backend.ts';
import type { StoreMonitor } from '../store-monitor.ts';
import type { Heartbeat } from './heartbeat.ts';

const PATIENCE_MS = 500;
/** How long the start waits once Redis counts: gateways may have to agree on salts first. */
const AGREEMENT_MS = 5_000;
/** The first command of a process is its slowest, so a first heartbeat may be late and is tried again. */
const RETRY_MS = 25;

export interface FirstContactOptions {
  readonly client: { on(event: 'ready', listener: () => void): unknown };
  /** The first write shows whether Redis counts: it may be full or read-only, or the account may lack permissions. */
  readonly heartbeat: Pick<Heartbeat, 'beat' | 'lost' | 'reconnected'>;
  readonly monitor: Pick<StoreMonitor, 'connected'>;
  /** Called for each new connection, not only for the first. Resolves once this gateway has what others share. */
  readonly onContact: () => Promise<void>;
}

/** Resolves once Redis counts and `onContact` is done, or when the start should not wait any longer. */
export function firstContact(options: FirstContactOptions): Promise<StoreAtStart> {
  const { client, heartbeat, monitor, onContact } = options;
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

  client.on('ready', async () => {
    heartbeat.reconnected();
    if (found === 'unreachable') found = 'refuses';
    const [counts] = await Promise.all([beatUntilItCounts(), onContact()]);
    if (counts) monitor.connected();
    clearTimeout(patience);
    endStart();
  });
  return promise;
}
