/** The largest token that requests of a policy can get. */
import { hash } from 'node:crypto';
import { limitsFor } from '../core/counting/descriptor.ts';
import type { Limit, Policy } from '../core/policy.ts';
import { limitNames } from './limit-names.ts';
import { type TokenPart, tokenLength } from './token.ts';

/** Characters. Proxies pass on headers of this length. */
export const LONGEST_TOKEN = 600;

/** Characters of the largest token for a request to which all of these policies apply. */
export function largestToken(policies: readonly Policy[]): number {
  const plans = [undefined, ...policies.flatMap((policy) => [...policy.plans.keys()])];
  const lengths = plans.map((plan) =>
    tokenLength(
      policies.flatMap((policy, momentMs) =>
        limitsFor(policy, { plan })
          .filter(({ afterwards }) => afterwards !== undefined)
          .flatMap((limit) => partsOf(limit, momentMs)),
      ),
    ),
  );
  return Math.max(...lengths);
}

/** `momentMs` differs for each policy, because shadow policies are counted at different times. */
function partsOf(limit: Limit, momentMs: number): TokenPart[] {
  const part = (form: Limit, partition: string): TokenPart => ({
    name: limitNames(limit.policy).get(form) ?? '',
    partition,
    units: mostUnits(form),
    momentMs,
  });
  const { per, wider, unverified } = limit;
  if (per === 'global') return [part(limit, 'g')];
  const plain = [limit, ...wider];
  // Claimed by a key that is not listed, a request counts by the address, too.
  const counted = unverified === undefined ? plain : [unverified, ...unverified.wider];
  const key = per === 'client' ? 'api_key' : per;
  const claimed = unverified === undefined ? [] : [part(limit, digestLike('k', key))];
  const addresses = counted.flatMap((form, i) => {
    const salt = form.isLong ? 'long' : 'daily';
    return ['previous', 'current'].map((name) => part(form, digestLike('i', salt + name + i)));
  });
  return [...claimed, ...addresses];
}

/** A request that says itself what it reserves may say all that a counter holds. */
function mostUnits({ afterwards, quota, cost }: Limit): number {
  return typeof afterwards?.reserve === 'object' ? quota.burst : cost;
}

/** A partition as long as a real one, and unlike those of other texts. */
function digestLike(kind: string, text: string): string {
  return `${kind}.${hash('sha256', text, 'base64url').slice(0, 22)}`;
}
