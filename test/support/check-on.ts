/** A check that counts in a given store, under given salts. */
import { type Check, createCheck, NO_EVENTS } from '../../src/core/check.ts';
import { NO_OVERRIDES } from '../../src/core/overrides.ts';
import type { SaltSource } from '../../src/core/salts.ts';
import type { QuotaStore } from '../../src/core/store.ts';
import { MemoryStore } from '../../src/stores/memory/memory-store.ts';

export function checkOn(store: Pick<QuotaStore, 'take'>, salts: SaltSource): Check {
  return createCheck({
    store,
    local: new MemoryStore({ now: Date.now, maxKeys: 1_000 }),
    salts,
    overrides: { current: NO_OVERRIDES },
    newId: () => 'an-id',
    events: NO_EVENTS,
  });
}
