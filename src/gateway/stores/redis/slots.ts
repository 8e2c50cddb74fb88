/** The slots of a Redis Cluster in which the keys of a request lie. */
import calculateSlot from 'cluster-key-slot';
import type { Descriptor } from '../../core/counting/store.ts';

interface SlotGroup<T> {
  readonly slot: number;
  readonly members: T[];
}

export function bySlot<T extends { readonly key: string }>(all: readonly T[]): SlotGroup<T>[] {
  const groups: SlotGroup<T>[] = [];
  for (const each of all) {
    const slot = calculateSlot(each.key);
    const group = groups.find((known) => known.slot === slot);
    if (group === undefined) groups.push({ slot, members: [each] });
    else group.members.push(each);
  }
  return groups;
}

/** Orders groups by the lowest rate among their limits. The lowest rate is the most likely to deny. */
export function narrowestFirst(a: SlotGroup<Descriptor>, b: SlotGroup<Descriptor>): number {
  return Number(hasRefund(a)) - Number(hasRefund(b)) || lowestRate(a) - lowestRate(b);
}

function hasRefund({ members }: SlotGroup<Descriptor>): boolean {
  return members.some(({ cost }) => cost < 0);
}

function lowestRate({ members }: SlotGroup<Descriptor>): number {
  return Math.min(
    ...members.map(({ quota, cost }) => quota.limit / Math.max(1, cost) / quota.windowMs),
  );
}
