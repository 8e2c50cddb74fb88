/** What a log tells of outcomes: the status of an answer, and nothing of its headers or of units. */
import { descriptor } from '../../../gateway/core/counting/descriptor.ts';
import { unitsOf } from '../../../gateway/core/counting/outcome.ts';
import type { Reservation } from '../../../gateway/core/counting/reservation.ts';
import type { SettlementStore } from '../../../gateway/core/counting/settlement.ts';
import type { Limit } from '../../../gateway/core/policy.ts';

/** Whether a request with this status is refunded. */
export function costsNothing({ afterwards }: Limit, status: number | undefined): boolean {
  return (
    afterwards !== undefined && unitsOf({ ...afterwards, unit: undefined }, { status }, 1) === 0
  );
}

/** Gives back what the status refunds, at the moment of the request. Everything else that it reserved stays. */
export function createRefund(store: SettlementStore) {
  let requests = 0;
  return ({ parts, momentMs }: Reservation, status: number | undefined): void => {
    const refunded = parts.filter(({ limit }) => costsNothing(limit, status));
    if (refunded.length === 0) return;
    requests++;
    // No request is settled again, so the store need not remember it.
    void store.settle({
      ...{ id: String(requests), endsMs: momentMs + 1 },
      parts: refunded.map(({ limit, partition, units, ...taken }) => {
        const { key, quota } = descriptor(limit, partition);
        return { key, quota, momentMs: taken.momentMs, reserved: units, used: 0 };
      }),
    });
  };
}
