/** Waits until commands can be sent to Redis. */
import { StoreError } from '../../core/counting/store.ts';
import type { RedisClient } from './client.ts';
import { withDeadline } from './deadline.ts';

export interface ReadyOptions {
  readonly withinMs: number;
  /** The last error of the connection, if there was one: it says more than that time ran out. */
  readonly connectionError: () => Error | undefined;
}

/** Rejects with the connection's error if there is one, otherwise with a StoreError. */
export async function untilReady(
  client: RedisClient,
  { withinMs, connectionError }: ReadyOptions,
): Promise<void> {
  const isReady = () => client.status === 'ready';
  if (isReady()) return;
  const settled = new Promise<void>((resolve) => {
    client.once('ready', resolve);
    client.once('end', resolve);
  });
  try {
    await withDeadline(settled, withinMs);
  } catch (error) {
    throw connectionError() ?? error;
  }
  if (!isReady()) {
    throw connectionError() ?? new StoreError('connection', 'the connection to Redis was closed');
  }
}
