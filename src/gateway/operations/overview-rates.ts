/** The present rates of an overview: the mean of its last steps. They are computed here alone. */

import { STEP_MS } from '../telemetry/decisions/traffic-history.ts';
import type { Output } from './operation-table.ts';

/** Rates are the mean of so long. */
export const RATE_MS = 2 * STEP_MS;

export type Rates = Output<'overview'>['rates'];
type Counts = Readonly<Record<'requests' | 'denials' | 'would_deny', readonly number[]>>;

/** Per second. */
export function ratesOf({ requests, denials, would_deny: wouldDeny }: Counts): Rates {
  return {
    requests: perSecond(requests),
    denials: perSecond(denials),
    would_deny: perSecond(wouldDeny),
  };
}

export function sumOfRates(all: readonly Rates[]): Rates {
  const sum = { requests: 0, denials: 0, would_deny: 0 };
  for (const rates of all) {
    sum.requests += rates.requests;
    sum.denials += rates.denials;
    sum.would_deny += rates.would_deny;
  }
  return sum;
}

function perSecond(counts: readonly number[]): number {
  const last = counts.slice(-RATE_MS / STEP_MS);
  return (last.reduce((sum, count) => sum + count, 0) * 1_000) / RATE_MS;
}
