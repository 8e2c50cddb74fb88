/** The port to what counts requests: memory and Redis implement it, see memory-backend.ts and redis/. */
import type { QuotaReader, QuotaStore } from '../core/counting/store.ts';
import type { StoreStats } from '../operations/running-gateway.ts';
import type { GatewayRank } from '../stores/local-share.ts';
import type { OverrideStore } from '../stores/overrides/override.ts';
import type { QueryReplies } from '../stores/redis/peers.ts';
import type { SaltBooks } from '../stores/salts/salt-sources.ts';

/** What a backend reports to the rest of the gateway. */
export interface BackendEvents {
  /** This gateway or another one reset these counters. */
  readonly onReset: (keys: readonly string[]) => void;
  /** The stored overrides may have changed. */
  readonly onOverridesChanged: () => void;
  /** Answers a query that goes to every gateway. Never rejects. */
  readonly answerQuery: (query: unknown) => Promise<unknown>;
}

/**
 * The store when the gateway started. `evicts`: Redis counts, but drops counters when it is full. `refuses`: it answers, but
 * is full, read-only or denies this account.
 */
export type StoreAtStart = 'counts' | 'evicts' | 'refuses' | 'runs-no-lua' | 'unreachable';

export interface Backend {
  readonly store: QuotaStore;
  readonly reader: QuotaReader;
  readonly overrideStore: OverrideStore;
  readonly salts: SaltBooks;
  /** The place of this gateway among those that count together. */
  place(): GatewayRank;
  /** Resolves once the store counts, or when the start should not wait any longer. Calls `onContact` on each contact. */
  connect(onContact: () => Promise<void>): Promise<StoreAtStart>;
  /** Sends a query to all gateways that count together, this one included. Never rejects. */
  queryAll(query: unknown): Promise<QueryReplies>;
  /** How much the store holds. Rejects with a StoreError. */
  stats(): Promise<StoreStats>;
  /** The version of Redis; undefined if it does not answer. Never rejects. */
  version(): Promise<string | undefined>;
}
