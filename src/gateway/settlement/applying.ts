/** Applies the outcome of a request to the counters that its token names. */
import { KEY_PREFIX } from '../core/counting/descriptor.ts';
import { missingUnit, type Outcome, unitsOf } from '../core/counting/outcome.ts';
import type { ReservedPart } from '../core/counting/reservation.ts';
import type {
  SettledPart,
  Settlement,
  SettlementStore,
  SettleResult,
} from '../core/counting/settlement.ts';
import { StoreError } from '../core/counting/store.ts';
import type { Channel, SettleVerdict, UnitsMissing } from './channel.ts';
import type { OpenedToken } from './token.ts';
import { WaitingSettlements } from './waiting.ts';

/** `cut`: it was settled, but the surplus was larger than the limit, and the rest was left out. */
type SettlementCount = SettleVerdict | 'cut';

interface SettlementEvents {
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
  return {
    async apply(reported: Reported): Promise<SettleVerdict | UnitsMissing> {
      const { mode, gateway: countedBy } = reported.opened;
      const own = countedBy === gateway ? local : undefined;
      const target = mode === 'local' ? own : store;
      if (target === undefined) return countAll(reported, 'elsewhere');
      if (own !== undefined && target !== own) void correctLocally(own, reported, events);
      const settlement = settlementOf(reported);
      try {
        const verdict = conclude(reported, await target.settle(settlement), events);
        return verdict === 'settled' ? settledWith(reported) : verdict;
      } catch (error) {
        if (target !== store || !(error instanceof StoreError)) {
          events.failed(error);
          return countAll(reported, 'lost');
        }
        const isWaiting = waiting.add({
          settlement,
          onSettled: (result) => conclude(reported, result, events),
          onLost: () => countAll(reported, 'lost'),
        });
        return countAll(reported, isWaiting ? 'waiting' : 'lost');
      }
    },
    /** Settles this until that succeeds, or it ends. */
    retry(settlement: Settlement): void {
      const ignore = () => {};
      waiting.add({ settlement, onSettled: ignore, onLost: ignore });
    },
    close: () => waiting.close(),
  };
}

/** This gateway noted locally what the store admitted, for the time when the store fails. */
async function correctLocally(
  local: SettlementStore,
  reported: Reported,
  events: SettlementEvents,
): Promise<void> {
  const parts = reported.parts.filter(({ limit }) => limit.policy.onStoreFailure === 'local');
  if (parts.length === 0) return;
  try {
    await local.settle(settlementOf({ ...reported, parts }));
  } catch (error) {
    events.failed(error);
  }
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

function settledWith({ parts, outcome }: Reported): 'settled' | UnitsMissing {
  const missing: string[] = [];
  for (const { limit } of parts) {
    const unit = limit.afterwards && missingUnit(limit.afterwards, outcome);
    if (unit !== undefined && !missing.includes(unit)) missing.push(unit);
  }
  return missing.length === 0 ? 'settled' : { result: 'settled', missingUnits: missing };
}

/** If parts end differently, the first of these wins. */
const VERDICTS = ['settled', 'repeated', 'gone', 'reset', 'ended'] as const;

/** All parts of a policy follow one another. */
function conclude(
  { parts, channel }: Reported,
  { parts: results }: SettleResult,
  events: SettlementEvents,
): SettleVerdict {
  let first = 0;
  for (let i = 0; i < parts.length; i++) {
    const { label, policy } = (parts[i] as ReservedPart).limit;
    const { cut } = results[i] as SettleResult['parts'][number];
    if (cut > 0) events.cut(label, cut);
    if (parts[i + 1]?.limit.policy === policy) continue;
    const ended = results.slice(first, i + 1);
    const isCut = ended.some((each) => each.cut > 0);
    events.counted(policy.name, channel, isCut ? 'cut' : verdictOf(ended));
    first = i + 1;
  }
  return verdictOf(results);
}

function verdictOf(results: SettleResult['parts']): SettleVerdict {
  return VERDICTS.find((verdict) => results.some(({ state }) => state === verdict)) ?? 'settled';
}
