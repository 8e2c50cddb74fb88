/** Advice on plans that allow less than a client without any key gets. */
import type { DiagnosticDraft } from '../diagnostic.ts';
import type { ValidFile } from '../policy-file/compile.ts';
import type { LimitEntry } from '../policy-file/limit-schema.ts';
import type { DefaultEntry } from '../policy-file/policy-schema.ts';
import type { Path } from '../yaml-path.ts';

export function adviceOnPlans({ fallback, entries }: ValidFile): DiagnosticDraft[] {
  return [
    ...plansBelow(fallback, ['default']),
    ...entries.flatMap((entry, i) => plansBelow(entry, ['policies', i])),
  ];
}

function plansBelow({ limits, plans }: DefaultEntry, at: Path): DiagnosticDraft[] {
  const withoutKey = limits.filter(isOfOneClient);
  return Object.entries(plans).flatMap(([plan, ofPlan]) => {
    const index = ofPlan.findIndex((limit) => isOfOneClient(limit) && isBelow(limit, withoutKey));
    const low = ofPlan[index];
    if (low === undefined) return [];
    const { limit, window } = low.rate;
    const message = `${limit}/${window} allows less than requests without a key get, so clients of this plan gain by leaving out their key`;
    return [{ rule: 'plan-below-none', path: [...at, 'plans', plan, index], message }];
  });
}

/** Whether the others together admit more in each window of this limit, also in the long run. */
function isBelow({ rate }: LimitEntry, others: readonly LimitEntry[]): boolean {
  const admitted = others.map((other) =>
    // A longer window may admit more at once and less in the long run.
    other.rate.windowMs > rate.windowMs
      ? 0
      : other.rate.limit * Math.floor(rate.windowMs / other.rate.windowMs),
  );
  return admitted.length > 0 && Math.min(...admitted) > rate.limit;
}

function isOfOneClient({ per }: LimitEntry): boolean {
  return per === 'client' || per === 'ip' || per === 'api_key';
}
