import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Descriptor, PeekResult, QuotaReader, QuotaStore } from '../core/counting/store.ts';
import type { UnseenHeader } from '../core/header-watch.ts';
import type { SaltSource } from '../core/identity/salts.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import type { DeniedClient, DeniedClients } from '../denials/denied-clients.ts';
import { isoTime } from '../denials/iso-time.ts';
import type { StoredKeys } from '../keys/stored-keys.ts';
import type { OverrideBook } from '../stores/overrides/override-book.ts';
import type { QueryReplies } from '../stores/redis/peers.ts';
import type { Keyspace, ServerState } from '../stores/redis/server-state.ts';
import type { TrafficHistory } from '../telemetry/decisions/traffic-history.ts';
import type { OperatorAction } from '../telemetry/operators.ts';
import type { ProxyFaults } from '../telemetry/proxies.ts';
import type { OverduePolicy, ReportedOutcomes } from '../telemetry/reported-outcomes.ts';
import type { ActionReport } from './schemas/overview.ts';

export interface Gateway {
  readonly policies: { readonly current: PolicySet };
  readonly salts: SaltSource;
  readonly overrides: OverrideBook;
  readonly keys: StoredKeys;
  readonly store: QuotaStore;
  readonly reader: QuotaReader;
  /** Reads this process's own share of limits, which applies while the store is unavailable. */
  peekLocally(descriptors: readonly Descriptor[]): PeekResult;
  readonly denied: Pick<DeniedClients, 'top' | 'find'> & { all(): Iterable<DeniedClient> };
  readonly wouldBeDenied: Pick<DeniedClients, 'top' | 'find'>;
  /** Lists the clients no longer whose quotas these store keys count, until they are denied again. */
  forgetDenied(keys: readonly string[]): void;
  /** Collects the replies of all gateways, this one included. Never rejects. */
  queryAll(query: unknown): Promise<QueryReplies>;
  /** Rejects with the error of the store. */
  stats(): Promise<StoreStats>;
  /** The last known number of gateways that count together. */
  knownGateways(): number;
  /** Headers that the policy file needs and that no request through a proxy had. */
  unseenHeaders(): readonly UnseenHeader[];
  audit(action: OperatorAction, isConfirmed: boolean): void;
  readonly status: GatewayStatus;
  now(): number;
}

export interface GatewayStatus {
  readonly isWorker: boolean;
  readonly host: string;
  readonly traffic: Pick<TrafficHistory, 'series'>;
  readonly actions: { readonly list: readonly ActionReport[] };
  readonly storeKind: 'memory' | 'redis';
  store(): StoreCondition;
  /** The version of Redis, if it answers. Never rejects. */
  storeVersion(): Promise<string | undefined>;
  readonly policyFile: Pick<PolicySource, 'digest' | 'history'>;
  readonly proxyFaults: Readonly<ProxyFaults>;
  readonly settlements: SettlementStatus;
}

/** All times are milliseconds since the epoch. */
interface SettlementStatus extends Pick<ReportedOutcomes, 'heard' | 'latest'> {
  /** Policies whose outcomes this gateway misses, and since when. */
  overdue(): readonly OverduePolicy[];
}

export interface StoreCondition {
  readonly isDegraded: boolean;
  /** When that last changed or, for a store that does not answer, since when; milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The last failure, in a few words; undefined for a store that is well. */
  readonly reason: string | undefined;
  /** The store failed some checks and counts others. Undefined if it is well, or does not answer at all. */
  readonly lapses: StoreLapses | undefined;
}

export interface StoreLapses {
  readonly failed: number;
  readonly checks: number;
  readonly withinMs: number;
}

export interface StoreStats {
  readonly store: 'memory' | 'redis';
  readonly keyspace: Keyspace;
  /** The Redis server, or the masters of a cluster. */
  readonly servers: readonly ServerState[];
}

/** The last operator actions at this gateway, as the audit log has them. */
export const MOST_ACTIONS = 20;

export function createRecentActions(now: () => number) {
  let list: readonly ActionReport[] = [];
  return {
    /** Newest first. */
    get list(): readonly ActionReport[] {
      return list;
    },
    add({ action, subject, change, by, reason }: OperatorAction, isConfirmed: boolean): void {
      const report: ActionReport = {
        at: isoTime(now()),
        action: String(action),
        change: String(change),
        by: String(by),
        ...(subject !== undefined && { subject: String(subject) }),
        ...(reason !== undefined && { reason: String(reason) }),
        is_confirmed: isConfirmed,
      };
      list = [report, ...list.slice(0, MOST_ACTIONS - 1)];
    },
  };
}
