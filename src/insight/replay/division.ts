/** Finds whether the clients of a replay can be divided among threads: no limit may count two of them together. */
import type { PolicySet } from '../../core/policy-set.ts';
import type { MappedField } from '../log-request.ts';

/** Undefined if the clients can be divided; otherwise the reason why not, for people. */
export function indivisible(
  policySets: readonly PolicySet[],
  mapping: readonly MappedField[],
): string | undefined {
  // A key or user may come from many addresses, and clients are divided by address.
  if (mapping.length > 0) return '--map tells clients apart by more than their address';
  const limits = policySets
    .flatMap(({ policies }) => policies)
    .flatMap(({ limits: own, plans }) => [own, ...plans.values()].flat());
  const shared = limits.find(({ per }) => per === 'global');
  return shared && `the limit ${shared.label} counts all clients together`;
}
