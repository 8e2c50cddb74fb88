import { MemoryStore } from '../../src/stores/memory/memory-store.ts';
import type { StoreUnderTest } from '../contract/quota-store.contract.ts';
import { NOON_MS } from './requests.ts';

export function openMemoryStore(): StoreUnderTest & { readonly store: MemoryStore } {
  const clock = { nowMs: NOON_MS };
  const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 100 });
  return { store, clock, key: (name = 'a') => name };
}
