/** Reads from Redis what gateways decide by, without being one of them. Nothing is counted. */
import type { Environment } from '../config/settings/environment.ts';
import type { RedisTarget } from '../config/settings/redis-url.ts';
import { dryRun } from '../core/counting/dry-run.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import type { ExplainContext } from '../operations/explain.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';
import { OverrideBook } from '../stores/overrides/override-book.ts';
import { RedisOverrideStore } from '../stores/overrides/redis-override-store.ts';
import { createRedisClient, type RedisClient, untilReady } from '../stores/redis/client.ts';
import { storeOfTarget } from '../stores/redis/cluster-store.ts';
import { overIoredis } from '../stores/redis/counting-connection.ts';
import { redisSaltVault, withoutWriting } from '../stores/salts/redis-salt-vault.ts';
import { DerivedSalts, SaltBooks } from '../stores/salts/salt-sources.ts';

/** An operator waits longer for a reply than a request does. */
const REPLY_TIMEOUT_MS = 2_000;

export interface LiveCountsOptions {
  readonly target: RedisTarget;
  readonly environment: Pick<Environment, 'ipSaltSecret'>;
  readonly policies: PolicySet;
}

/** Calls `use` with what applies at this moment. Rejects with the error of Redis, or with that of `use`. */
export async function withLiveCounts<T>(
  { target, environment, policies }: LiveCountsOptions,
  use: (circumstances: ExplainContext) => Promise<T>,
): Promise<T> {
  let lastError: Error | undefined;
  const client = createRedisClient({
    target,
    deadlineMs: REPLY_TIMEOUT_MS,
    onError: (error) => {
      lastError = error;
    },
  });
  const now = Date.now;
  const salts = saltsFor(environment, client);
  const overrides = new OverrideBook({
    overrideStore: new RedisOverrideStore({ client, deadlineMs: REPLY_TIMEOUT_MS, now }),
    now,
    onChange: () => {},
    onRestored: () => {},
  });
  const reader = storeOfTarget(target, {
    connection: overIoredis(client),
    maxInFlight: 1,
    deadlineMs: REPLY_TIMEOUT_MS,
  });
  try {
    await untilReady(client, { withinMs: REPLY_TIMEOUT_MS, connectionError: () => lastError });
    await Promise.all([salts.refresh(now()), overrides.refresh()]);
    return await use({
      policies,
      salts,
      overrides,
      store: dryRun(reader),
      local: new MemoryStore({ now, maxKeys: 1_000 }),
      nowMs: now(),
    });
  } finally {
    overrides.close();
    client.disconnect();
  }
}

function saltsFor({ ipSaltSecret }: Pick<Environment, 'ipSaltSecret'>, client: RedisClient) {
  if (ipSaltSecret !== undefined) return new DerivedSalts(ipSaltSecret);
  return new SaltBooks(withoutWriting(redisSaltVault(client)));
}
