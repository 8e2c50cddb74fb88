/** The limits of a policy as rows of a report: each of them once, also those of plans, which have the labels of others. */
import type { Limit, Policy } from '../../../gateway/core/policy.ts';

export interface LimitRow {
  /** Undefined for limits of clients without a plan. */
  readonly plan: string | undefined;
  readonly limit: Limit;
  readonly allows: string;
  /** Threads compile the policy file each for itself, so they name limits by keys. */
  readonly key: string;
  /** It comes with a limit of the file: for wider networks, or for all unverified keys of an address. */
  readonly isImplied: boolean;
}

export function limitRows({ limits, plans }: Policy): LimitRow[] {
  return [[undefined, limits] as const, ...plans].flatMap(([plan, all]) =>
    all.flatMap((limit) => {
      const { unverified, wider } = limit;
      const rowsOf = (limits: readonly Limit[], among = '') =>
        limits.map((each) => ({
          ...{ plan, limit: each, isImplied: each !== limit },
          allows: each.description + among,
          key: plan === undefined ? each.label : `${each.label} ${plan}`,
        }));
      const ofUnverified = unverified === undefined ? [] : [unverified, ...unverified.wider];
      return [
        ...rowsOf([limit, ...wider]),
        ...rowsOf(ofUnverified, ', for all unverified keys of an address'),
      ];
    }),
  );
}

export function byKey<Value>(
  policies: readonly Policy[],
  found: ReadonlyMap<Limit, Value>,
): Map<string, Value> {
  const keys = new Map(policies.flatMap(limitRows).map(({ limit, key }) => [limit, key]));
  return new Map([...found].map(([limit, value]) => [keys.get(limit) ?? '', value]));
}
