/** What counts, and what it takes to do so: the port between the composition root and the two ways there are. */
import type { QuotaReader, QuotaStore } from '../core/store.ts';
import type { StoreStats } from '../operations/stats.ts';
import type { DerivedSalts } from '../salts/derived-salts.ts';
import type { SaltBooks } from '../salts/salt-books.ts';
import type { Place } from '../stores/local-share.ts';
import type { OverrideStore } from '../stores/override-store.ts';
import type { QueryReplies } from '../stores/redis/peer-gateways.ts';

/** What other gateways, or this one, have to say about the rest of a gateway. */
export interface BackendEvents {
  /** Counts were reset, by whomever. */
  readonly onReset: (keys: readonly string[]) => void;
  /** What is on the override store may have changed. */
  readonly onOverridesChanged: () => void;
  /** A question that every gateway is asked. Never rejects. */
  readonly answer: (question: unknown) => Promise<unknown>;
}

/** How a gateway found its store: one that refuses can be reached, but is full, read-only or keeps this account out. */
export type StoreAtStart = 'counts' | 'refuses' | 'unreachable';

export interface Backend {
  readonly store: QuotaStore;
  readonly reader: QuotaReader;
  readonly overrideStore: OverrideStore;
  readonly salts: SaltBooks | DerivedSalts;
  /** Among the gateways that count together. */
  place(): Place;
  /** Resolves once the store counts, or when the start should not wait for that any longer. Calls back at every contact. */
  connect(onContact: () => Promise<void>): Promise<StoreAtStart>;
  /** Puts a question to all gateways that count together. Never rejects. */
  queryAll(question: unknown): Promise<QueryReplies>;
  /** What counting takes up. Rejects with what the store says against it. */
  stats(): Promise<StoreStats>;
  close(): Promise<void>;
}
