/** What operations work on: the parts of a running gateway. */
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
  /** How this process's own share of a limit stands. */
  peekLocally(descriptors: readonly Descriptor[]): PeekResult;
  readonly denied: Pick<DeniedClients, 'top' | 'find'>;
  readonly wouldBeDenied: Pick<DeniedClients, 'top' | 'find'>;
  /** What every gateway says to a question, this one included. */
  queryAll(question: unknown): Promise<QueryReplies>;
  /** What counting takes up. Rejects with what the store says against it. */
  stats(): Promise<StoreStats>;
  /** Headers that the policy file needs and no request through a proxy had. */
  unseenHeaders(): readonly UnseenHeader[];
  /** For the audit log. */
  audit(action: OperatorAction): void;
  /** Milliseconds since the epoch. */
  now(): number;
}
