/** Tells `explain` which limits a request is counted against, and what the count found. */
import type { Counted } from './counting/decision.ts';
import type { LimitDescriptor } from './counting/descriptor.ts';
import type { Limit } from './policy.ts';
import type { Trace } from './trace.ts';

export function traceLimits(descriptors: readonly LimitDescriptor[], trace: Trace): void {
  for (const { source, key } of descriptors) {
    const { label, description, per } = source;
    trace({ type: 'limit', label, description, per, key });
  }
}

function reservedUnit({ afterwards }: Limit, cost: number): string | undefined {
  return afterwards && (afterwards.unit ?? (cost === 1 ? 'request' : 'requests'));
}

export function traceQuotas({ descriptors, result }: Counted, trace: Trace): void {
  for (const [i, { source, cost }] of descriptors.entries()) {
    trace({
      type: 'quota',
      label: source.label,
      cost,
      reservedUnit: reservedUnit(source, cost),
      isAdmitted: result?.admitted === true,
      state: result?.states[i],
    });
  }
}
