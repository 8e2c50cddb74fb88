/** A check that counts in a given store, under given salts. */
import { type Check, createCheck, UNOBSERVED } from '../../src/gateway/core/check.ts';
import type { QuotaStore } from '../../src/gateway/core/counting/store.ts';
import type { SaltSource } from '../../src/gateway/core/identity/salts.ts';
import { NO_OVERRIDES } from '../../src/gateway/core/overrides.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';

export function checkOn(store: Pick<QuotaStore, 'take'>, salts: SaltSource): Check {
  return createCheck({
    store,
    local: new MemoryStore({ now: Date.now, maxKeys: 1_000 }),
    salts,
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    observer: UNOBSERVED,
  });
}
