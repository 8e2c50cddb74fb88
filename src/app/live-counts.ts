/** What the gateways on a Redis would decide by, read by somebody who is none of them: nothing is counted. */
import type { Environment } from '../config/settings/environment.ts';
import type { RedisTarget } from '../config/settings/redis-target.ts';
import { dryRun } from '../core/dry-run.ts';
import type { PolicySet } from '../core/policy-set.ts';
import { becomesReady, PATIENCE_MS } from '../doctor/contact.ts';
import type { ExplainContext } from '../operations/explain.ts';
import { OverrideBook } from '../operations/override-book.ts';
import { DerivedSalts } from '../salts/derived-salts.ts';
import { RedisSaltVault } from '../salts/redis-salt-vault.ts';
import { SaltBooks } from '../salts/salt-books.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';
import { createRedisClient } from '../stores/redis/client.ts';
import { InFlight } from '../stores/redis/in-flight.ts';
import { RedisOverrideStore } from '../stores/redis/redis-override-store.ts';
import { storeOfTarget } from '../stores/redis/store-of-target.ts';

/** Hands over what holds at this moment. Rejects with what Redis has against it, or with what `use` rejects with. */
export async function withLiveCounts<T>(
  target: RedisTarget,
  { ipSaltSecret }: Environment,
  policies: PolicySet,
  use: (context: ExplainContext) => Promise<T>,
): Promise<T> {
  let lastError: Error | undefined;
  const deadlineMs = PATIENCE_MS;
  const client = createRedisClient({
    target,
    deadlineMs,
    onError: (error) => {
      lastError = error;
    },
  });
  const salts =
    ipSaltSecret === undefined
      ? new SaltBooks((periodMs) => new RedisSaltVault(client, periodMs))
      : new DerivedSalts(ipSaltSecret);
  const now = Date.now;
  const options = { client, inFlight: new InFlight(1), deadlineMs };
  const reader = storeOfTarget(target, options);
  const overrideStore = new RedisOverrideStore({ client, deadlineMs, now });
  const overrides = new OverrideBook({
    overrideStore,
    now,
    onChange: () => {},
    onRestored: () => {},
  });
  try {
    await becomesReady(client, () => lastError);
    await Promise.all([salts.refresh(now()), overrides.refresh()]);
    return await use({
      policies,
      salts,
      overrides: overrides.current,
      store: dryRun(reader),
      // Of what gateways count for themselves, nobody else knows.
      local: new MemoryStore({ now, maxKeys: 1_000 }),
      nowMs: now(),
    });
  } finally {
    overrides.close();
    client.disconnect();
  }
}
