/** The most units that each client requested within one window of a limit, whether they were admitted or not. */
import { fixedWindowAt } from '../../../gateway/core/counting/calendar.ts';
import { type LimitDescriptor, partitionOf } from '../../../gateway/core/counting/descriptor.ts';
import { isOfMany } from '../../../gateway/core/identity/partition.ts';
import type { Limit } from '../../../gateway/core/policy.ts';
import { countValue, getOrAdd, type Histogram } from '../maps.ts';

interface Recent {
  /** When requests came, oldest first; from `from` on they count. Each takes the cost of the limit. */
  readonly timesMs: number[];
  from: number;
  peak: number;
}

const DROPPED_AT_ONCE = 1_024;

export class Peaks {
  readonly #byLimit = new Map<Limit, Map<string | number, Recent>>();

  /** One limit may occur several times, next to each other: then the first is the client's own. */
  add(descriptors: readonly LimitDescriptor[], client: number, nowMs: number): void {
    for (const [i, { source, key }] of descriptors.entries()) {
      if (source === descriptors[i - 1]?.source) continue;
      // The key of an address changes with the salts.
      const recent = this.#recentOf(source, isOfMany(partitionOf(key)) ? key : client);
      const { timesMs } = recent;
      timesMs.push(nowMs);
      while (!counts(source, timesMs[recent.from] ?? nowMs, nowMs)) recent.from++;
      recent.peak = Math.max(recent.peak, (timesMs.length - recent.from) * source.cost);
      if (recent.from >= DROPPED_AT_ONCE) {
        timesMs.splice(0, recent.from);
        recent.from = 0;
      }
    }
  }

  histograms(): Map<Limit, Histogram> {
    const all = new Map<Limit, Histogram>();
    for (const [limit, clients] of this.#byLimit) {
      const counts: Histogram = new Map();
      for (const { peak } of clients.values()) countValue(counts, peak);
      all.set(limit, counts);
    }
    return all;
  }

  #recentOf(limit: Limit, counted: string | number): Recent {
    const clients = getOrAdd(this.#byLimit, limit, () => new Map<string | number, Recent>());
    return getOrAdd(clients, counted, () => ({ timesMs: [], from: 0, peak: 0 }));
  }
}

function counts({ quota }: Limit, atMs: number, nowMs: number): boolean {
  if (quota.algorithm !== 'fixed-window') return atMs > nowMs - quota.windowMs;
  return atMs >= fixedWindowAt(quota, nowMs).startMs;
}
