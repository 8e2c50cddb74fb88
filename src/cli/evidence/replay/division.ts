/** Finds whether the clients of a replay can be divided among threads: no limit may count two of them together. */
import { allLimits } from '../../../gateway/config/policy-file/valid-file.ts';
import type { MappedField } from '../log-request.ts';
import type { ReadPolicies } from '../policies.ts';

/** Undefined if the clients can be divided; otherwise the reason why not, for people. */
export function indivisible(
  [policies, ...others]: readonly [ReadPolicies, ...ReadPolicies[]],
  mapping: readonly MappedField[],
): string | undefined {
  // A key or user may come from many addresses, and clients are divided by address.
  if (mapping.length > 0) return '--map tells clients apart by more than their address';
  const files = [policies, ...others].map(({ file }) => file);
  const limits = files
    .flatMap(({ fallback, entries }) => [fallback, ...entries])
    .flatMap(allLimits);
  if (limits.some(({ per }) => per === 'global')) return 'a limit counts all clients together';
  const identity = JSON.stringify(policies.file.identity);
  return files.every((file) => JSON.stringify(file.identity) === identity)
    ? undefined
    : 'the two files tell clients apart in different ways (identity)';
}
