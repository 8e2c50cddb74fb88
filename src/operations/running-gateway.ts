/** The parts of a running gateway that operations need. */
import type { UnseenHeader } from '../core/header-watch.ts';
import type { PolicySet } from '../core/policy-set.ts';
import type { SaltSource } from '../core/salts.ts';
import type { Descriptor, PeekResult, QuotaReader, QuotaStore } from '../core/store.ts';
import type { DeniedClients } from '../denials/denied-clients.ts';
import type { QueryReplies } from '../stores/redis/peer-gateways.ts';
import type { OperatorAction } from '../telemetry/events/operator-events.ts';
import type { OverrideBook } from './override-book.ts';
import type { StoreStats } from './stats.ts';

export interface Gateway {
  readonly policies: { readonly current: PolicySet };
  readonly salts: SaltSource;
  readonly overrides: OverrideBook;
  readonly store: QuotaStore;
  readonly reader: QuotaReader;
  /** Reads this process's own share of limits, which applies while the store is unavailable. */
  peekLocally(descriptors: readonly Descriptor[]): PeekResult;
  readonly denied: Pick<DeniedClients, 'top' | 'find'>;
  readonly wouldBeDenied: Pick<DeniedClients, 'top' | 'find'>;
  /** Collects the replies of all gateways, this one included. Never rejects. */
  queryAll(query: unknown): Promise<QueryReplies>;
  /** Rejects with the error of the store. */
  stats(): Promise<StoreStats>;
  /** Headers that the policy file needs and that no request through a proxy had. */
  unseenHeaders(): readonly UnseenHeader[];
  /** Writes a line of the audit log. */
  audit(action: OperatorAction): void;
  /** Milliseconds since the epoch. */
  now(): number;
}
