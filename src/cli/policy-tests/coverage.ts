/** Counts what the requests of tests did to each limit: a limit is covered if it admitted a request and denied one. */
import { decide } from '../../gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../gateway/core/counting/descriptor.ts';
import type { TakeResult } from '../../gateway/core/counting/store.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';
import { modeOf, type PolicyModes } from '../../gateway/core/overrides.ts';
import type { Limit } from '../../gateway/core/policy.ts';
import type { TestedPolicies } from './tested-policies.ts';

export interface LimitCoverage {
  readonly policy: string;
  /** Undefined for the policy's own limits. */
  readonly plan: string | undefined;
  readonly label: string;
  /** `5 requests per 5 minutes, per client` */
  readonly description: string;
  matched: number;
  admitted: number;
  /** Requests that this limit denied with the longest wait. In shadow mode: would have denied. */
  denied: number;
  /** How many of `denied` passed, because the policy was in shadow mode. */
  inShadow: number;
}

export interface FileCoverage {
  readonly file: string;
  readonly limits: readonly LimitCoverage[];
}

export function isCovered({ admitted, denied }: LimitCoverage): boolean {
  return admitted > 0 && denied > 0;
}

/** 100 if there are no limits. */
export function coveredPercent(files: readonly FileCoverage[]): number {
  const limits = files.flatMap((file) => file.limits);
  return limits.length === 0 ? 100 : (100 * limits.filter(isCovered).length) / limits.length;
}

export class Coverage {
  readonly #files = new Map<string, FileCoverage>();
  /** A policy file is compiled for each test file: the limits of all of them count together. */
  readonly #byLimit = new Map<Limit, LimitCoverage>();

  /** Policy files that tests load by `reload` alone are counted, but not listed. */
  list(paths: ReadonlySet<string>): FileCoverage[] {
    return [...this.#files].filter(([path]) => paths.has(path)).map(([, file]) => file);
  }

  /** Call before anything is recorded with these policies. */
  add({ path, file, set }: TestedPolicies): void {
    const limits = limitsOf(set);
    const known = this.#files.get(path) ?? { file, limits: limits.map(([, row]) => row) };
    this.#files.set(path, known);
    for (const [i, [limit]] of limits.entries()) {
      this.#byLimit.set(limit, known.limits[i] as LimitCoverage);
    }
  }

  /** One take: of all enforced policies of a request, or of one in shadow mode. */
  record(descriptors: readonly LimitDescriptor[], result: TakeResult, modes: PolicyModes): void {
    const { binding } = decide([{ descriptors: descriptors, result: result, mode: 'enforced' }]);
    // At midnight a limit counts twice, under two pseudonyms.
    for (const limit of new Set(descriptors.map(({ source }) => source))) {
      const row = this.#byLimit.get(limit);
      // The limits of addresses and networks that come with a limit are not in the file.
      if (row === undefined) continue;
      row.matched++;
      if (result.admitted) row.admitted++;
      else if (binding?.limit === limit) {
        row.denied++;
        if (modeOf(limit.policy, modes) === 'shadow') row.inShadow++;
      }
    }
  }
}

function limitsOf({ policies }: PolicySet): [Limit, LimitCoverage][] {
  return policies.flatMap(({ name: policy, limits, plans }) =>
    [[undefined, limits] as const, ...plans].flatMap(([plan, all]) =>
      all.map((limit): [Limit, LimitCoverage] => {
        const description = `${limit.description}, per ${limit.per}`;
        const names = { policy, plan, label: limit.label, description };
        return [limit, { ...names, matched: 0, admitted: 0, denied: 0, inShadow: 0 }];
      }),
    ),
  );
}
