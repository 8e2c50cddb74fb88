/** Applies the outcome of a request to the counters that its token names. */
import { KEY_PREFIX } from '../core/counting/descriptor.ts';
import { type Outcome, unitsOf } from '../core/counting/outcome.ts';
import type { ReservedPart } from '../core/counting/reservation.ts';
import type {
  SettledPart,
  Settlement,
  SettlementStore,
  SettleResult,
} from '../core/counting/settlement.ts';
import { StoreError } from '../core/counting/store.ts';
import type { Channel, SettleVerdict } from './channel.ts';
import type { OpenedToken } from './token.ts';
import { WaitingSettlements } from './waiting.ts';

/** `cut`: it was settled, but the surplus was larger than the limit, and the rest was left out. */
type SettlementCount = SettleVerdict | 'cut';

export interface SettlementEvents {
  reserved(policy: string): void;
  /** `policy` is `none` if no policy of the file in force is known for the token. */
  counted(policy: string, channel: Channel, result: SettlementCount): void;
  /** So many units of a surplus were left out. */
  cut(limit: string, units: number): void;
  /** So many settlements are waiting now. */
  waiting(settlements: number): void;
  lost(settlements: number): void;
  failed(error: unknown): void;
}

export interface ApplyingOptions {
  readonly store: SettlementStore;
  /** What counts in this process while the store fails. Undefined if the store is in this process. */
  readonly local: SettlementStore | undefined;
  /** Which process this is, as its tokens say. */
  readonly gateway: string;
  readonly now: () => number;
  readonly events: SettlementEvents;
  /** Milliseconds that waiting settlements may take when the gateway ends. */
  readonly closeWithinMs: number;
}

/** A token that is valid, and its parts whose limits the file in force has: at least one. */
export interface Reported {
  readonly opened: OpenedToken;
  readonly parts: readonly ReservedPart[];
  readonly outcome: Outcome;
  readonly channel: Channel;
}

export function createApply({ store, local, gateway, events, ...options }: ApplyingOptions) {
  const waiting = new WaitingSettlements({
    ...{ ...options, store },
    onCount: events.waiting,
    onLost: events.lost,
    onFault: events.failed,
  });
  const countAll = ({ parts, channel }: Reported, verdict: SettleVerdict) => {
    const policies = new Set(parts.map(({ limit }) => limit.policy.name));
    for (const policy of policies) events.counted(policy, channel, verdict);
    return verdict;
  };
  const fault = (reported: Reported, error: unknown) => {
    events.failed(error);
    return countAll(reported, 'lost');
  };
  const concluding = (reported: Reported) => (result: SettleResult) =>
    conclude(reported, result, events);
  return {
    apply(reported: Reported): SettleVerdict | Promise<SettleVerdict> {
      const { mode, endsMs, gateway: countedBy } = reported.opened;
      const own = countedBy === gateway ? local : undefined;
      if (mode === 'local') {
        if (own === undefined) return countAll(reported, 'elsewhere');
        return attempt(own, settlementOf(reported), {
          settled: concluding(reported),
          failed: (error) => fault(reported, error),
        });
      }
      if (own !== undefined) correctLocally(own, reported, events);
      const settlement = settlementOf(reported);
      return attempt(store, settlement, {
        settled: concluding(reported),
        failed(error) {
          if (!(error instanceof StoreError)) return fault(reported, error);
          const isWaiting = waiting.add({
            settlement,
            untilMs: endsMs,
            onSettled: concluding(reported),
            onLost: () => countAll(reported, 'lost'),
          });
          return countAll(reported, isWaiting ? 'waiting' : 'lost');
        },
      });
    },
    /** Settles this until that succeeds, or it ends. */
    retry(settlement: Settlement): void {
      const ignore = () => {};
      const untilMs = settlement.endsMs;
      waiting.add({ settlement, untilMs, onSettled: ignore, onLost: ignore });
    },
    close: () => waiting.close(),
  };
}

interface Attempt<Result> {
  readonly settled: (result: SettleResult) => Result;
  readonly failed: (error: unknown) => Result;
}

/** A store in this process answers without a promise. */
function attempt<Result>(
  store: SettlementStore,
  settlement: Settlement,
  { settled, failed }: Attempt<Result>,
): Result | Promise<Result> {
  try {
    const result = store.settle(settlement);
    return result instanceof Promise ? result.then(settled, failed) : settled(result);
  } catch (error) {
    return failed(error);
  }
}

/** This gateway noted locally what the store admitted, for the time when the store fails. */
function correctLocally(local: SettlementStore, reported: Reported, events: SettlementEvents) {
  const parts = reported.parts.filter(({ limit }) => limit.policy.onStoreFailure === 'local');
  if (parts.length === 0) return;
  void attempt(local, settlementOf({ ...reported, parts }), {
    settled: () => {},
    failed: events.failed,
  });
}

function settlementOf({ opened, parts, outcome }: Reported): Settlement {
  const { id, endsMs } = opened;
  return {
    id,
    endsMs,
    parts: parts.map(({ limit, partition, units, momentMs }): SettledPart => {
      const { keySuffix, quota, afterwards } = limit;
      const used = afterwards === undefined ? units : unitsOf(afterwards, outcome, units);
      const key = [KEY_PREFIX, partition, keySuffix].join('');
      return { key, quota, momentMs, reserved: units, used };
    }),
  };
}

/** If parts end differently, the first of these wins. */
const VERDICTS = ['settled', 'repeated', 'gone', 'reset', 'ended'] as const;

function conclude(
  { parts, channel }: Reported,
  { parts: results }: SettleResult,
  events: SettlementEvents,
): SettleVerdict {
  const resultsOf = Map.groupBy(results, (_, i) => parts[i]?.limit.policy.name ?? 'none');
  for (const [i, { cut }] of results.entries()) {
    if (cut > 0) events.cut(parts[i]?.limit.label ?? '', cut);
  }
  for (const [policy, some] of resultsOf) {
    const isCut = some.some(({ cut }) => cut > 0);
    events.counted(policy, channel, isCut ? 'cut' : verdictOf(some));
  }
  return verdictOf(results);
}

function verdictOf(results: SettleResult['parts']): SettleVerdict {
  return VERDICTS.find((verdict) => results.some(({ state }) => state === verdict)) ?? 'settled';
}
