import { hint } from '../../../gateway/config/closest-word.ts';
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import {
  everyEntry,
  keySources,
  type LimitEntry,
  type PlacedEntry,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';

export function adviceOnKeys(file: ValidFile): DiagnosticDraft[] {
  const held = new Set(file.keys.flatMap(({ plan }) => plan ?? []));
  const known = everyEntry(file).flatMap(({ entry: { plans } }) => Object.keys(plans));
  // A name that is on one side only may be the misspelled one.
  const sure = known.filter((plan) => held.has(plan));
  const keys = [
    ...unknownPlans(file, known, sure),
    ...unreadKeys(file),
    ...unheldPlans(file, sure),
  ];
  return [...keys, ...everyEntry(file).flatMap(plansBelow)];
}

function unknownPlans(
  { identity, keys }: ValidFile,
  known: readonly string[],
  sure: readonly string[],
): DiagnosticDraft[] {
  const unknown = new Set(
    keys.flatMap(({ plan }) => plan ?? []).filter((plan) => !known.includes(plan)),
  );
  const isInline = keySources(identity).file === undefined;
  return [...unknown].map((plan) => {
    const index = keys.findIndex((key) => key.plan === plan);
    return {
      rule: 'plan-unknown',
      path: ['identity', 'api_key', 'keys', ...(isInline ? [index, 'plan'] : [])],
      message: `no policy has limits for the plan "${plan}" of the key "${keys[index]?.id}"${hint(plan, sure)}`,
    };
  });
}

function unreadKeys({ identity, keys }: ValidFile): DiagnosticDraft[] {
  if ((keys.length === 0 && !keySources(identity).inStore) || identity.sources.includes('api_key'))
    return [];
  const message = 'are not read: add api_key to identity.sources, or remove the keys';
  return [{ rule: 'keys-not-read', path: ['identity', 'api_key', 'keys'], message }];
}

function unheldPlans(file: ValidFile, sure: readonly string[]): DiagnosticDraft[] {
  const { identity, keys } = file;
  // keys-not-read is reported already.
  if (keys.length > 0 && !identity.sources.includes('api_key')) return [];
  if (keySources(identity).inStore || identity.plan !== undefined) return [];
  return everyEntry(file).flatMap(({ entry: { plans }, at }) =>
    Object.keys(plans)
      .filter((plan) => !sure.includes(plan))
      .map((plan) => ({
        rule: 'plan-unheld',
        path: [...at, 'plans', plan],
        message: `no listed key has this plan${hint(plan, sure)}`,
      })),
  );
}

function plansBelow(placed: PlacedEntry): DiagnosticDraft[] {
  const units = new Set(placed.entry.limits.map(({ unit }) => unit));
  return [...units].flatMap((unit) => plansBelowIn(unit, placed));
}

/** Limits of different units cannot be compared. */
function plansBelowIn(
  unit: string | undefined,
  { entry: { limits, plans }, at }: PlacedEntry,
): DiagnosticDraft[] {
  const isComparable = (limit: LimitEntry) => limit.unit === unit && isOfOneClient(limit);
  const withoutKey = limits.filter(isComparable);
  if (withoutKey.length === 0) return [];
  return Object.entries(plans).flatMap(([plan, all]) => {
    const ofPlan = all.filter(isComparable);
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

function atMost(limits: readonly LimitEntry[], windowMs: number): number {
  const each = limits.map(({ rate }) => rate.limit * Math.ceil(windowMs / rate.windowMs));
  return Math.min(...each);
}

function isOfOneClient({ per }: LimitEntry): boolean {
  return per === 'client' || per === 'ip' || per === 'api_key';
}
