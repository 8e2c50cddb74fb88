/** The port to what counts requests: memory and Redis implement it, see memory-backend.ts and redis/. */
import type { Settlement, SettlementStore } from '../core/counting/settlement.ts';
import type { QuotaReader, QuotaStore } from '../core/counting/store.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { StoreStats } from '../operations/running-gateway.ts';
import type { GatewayRank } from '../stores/local-share.ts';
import type { OverrideStore } from '../stores/overrides/override.ts';
import type { QueryReplies } from '../stores/redis/peers.ts';
import type { SaltBooks } from '../stores/salts/salt-sources.ts';

export interface BackendEvents {
  /** This gateway or another one reset these counters. */
  readonly onReset: (keys: readonly string[]) => void;
  readonly onOverridesChanged: () => void;
  /** Keys of the store were changed, or may have been. */
  readonly onKeysChanged: () => void;
  /** The store could not give back what a denied request had taken. */
  readonly onUnsettled: (settlement: Settlement) => void;
  /** Never rejects. */
  readonly replyTo: (query: unknown) => Promise<unknown>;
}

/** `evicts`: Redis counts, but drops counters when it is full. `refuses`: it is full, read-only or denies this account. */
export type StoreAtStart = 'counts' | 'evicts' | 'refuses' | 'runs-no-lua' | 'unreachable';

export interface Backend {
  readonly store: QuotaStore & SettlementStore;
  readonly reader: QuotaReader;
  readonly overrideStore: OverrideStore;
  readonly keyStore: KeyStore;
  readonly salts: SaltBooks;
  place(): GatewayRank;
  /** Resolves once the store counts, or when the start should not wait any longer. Calls `onContact` on each contact. */
  connect(onContact: () => Promise<void>): Promise<StoreAtStart>;
  /** All gateways that count together reply, this one included. Never rejects. */
  queryAll(query: unknown): Promise<QueryReplies>;
  /** Rejects with a StoreError. */
  stats(): Promise<StoreStats>;
  /** It is that of Redis, and undefined if Redis does not answer. Never rejects. */
  version(): Promise<string | undefined>;
}
