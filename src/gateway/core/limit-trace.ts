/** Traces what each limit of a request counts, and how much of it remains. */
import type { Counted } from './counting/decision.ts';
import type { LimitDescriptor } from './counting/descriptor.ts';
import type { Trace } from './trace.ts';

export function traceLimits(descriptors: readonly LimitDescriptor[], trace: Trace): void {
  for (const { source, key } of descriptors) {
    const { label, description, per } = source;
    trace({ type: 'limit', label, description, per, key });
  }
}

export function traceQuotas({ descriptors, result }: Counted, trace: Trace): void {
  for (const [i, { source, cost }] of descriptors.entries()) {
    trace({
      type: 'quota',
      label: source.label,
      cost,
      isAdmitted: result?.admitted === true,
      state: result?.states[i],
    });
  }
}
