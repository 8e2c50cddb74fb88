/** Advice on plans that allow less than a client without any key gets. */
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import type { LimitEntry, ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { everyEntry, type PlacedEntry } from '../../../gateway/config/policy-file/valid-file.ts';

export function adviceOnPlans(file: ValidFile): DiagnosticDraft[] {
  return everyEntry(file).flatMap(plansBelow);
}

function plansBelow({ entry: { limits, plans }, at }: PlacedEntry): DiagnosticDraft[] {
  const withoutKey = limits.filter(isOfOneClient);
  if (withoutKey.length === 0) return [];
  return Object.entries(plans).flatMap(([plan, all]) => {
    const ofPlan = all.filter(isOfOneClient);
    const low = ofPlan.find(({ rate }) => atLeast(withoutKey, rate.windowMs) > rate.limit);
    const isNeverAbove = withoutKey.every(
      ({ rate }) => atMost(ofPlan, rate.windowMs) <= rate.limit,
    );
    if (low === undefined || !isNeverAbove) return [];
    const { limit, window } = low.rate;
    const message = `${limit}/${window} allows less than requests without a key get, so clients of this plan gain by leaving out their key`;
    return [{ rule: 'plan-below-none', path: [...at, 'plans', plan, all.indexOf(low)], message }];
  });
}

/** What these limits together admit in every window of this length, again and again. */
function atLeast(limits: readonly LimitEntry[], windowMs: number): number {
  const each = limits.map(({ rate }) => rate.limit * Math.floor(windowMs / rate.windowMs));
  return Math.min(...each);
}

/** The most that they admit in a window of this length. */
function atMost(limits: readonly LimitEntry[], windowMs: number): number {
  const each = limits.map(({ rate }) => rate.limit * Math.ceil(windowMs / rate.windowMs));
  return Math.min(...each);
}

function isOfOneClient({ per }: LimitEntry): boolean {
  return per === 'client' || per === 'ip' || per === 'api_key';
}
