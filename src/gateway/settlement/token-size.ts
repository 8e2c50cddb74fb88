/** The largest token that requests of a policy can get. */
import type { Limit, Policy } from '../core/policy.ts';
import { type LimitName, limitLists, limitNames } from './limit-names.ts';
import { type TokenPart, tokenLength } from './token.ts';

/** Characters of the largest token for a request to which all of these policies apply. */
export function largestToken(policies: readonly Policy[]): number {
  return tokenLength(policies.flatMap(largestParts));
}

/** Those of the plan that needs the most. */
function largestParts(policy: Policy): TokenPart[] {
  const names = limitNames(policy);
  const found = limitLists(policy).map(([, limits]) =>
    limits
      .filter(({ afterwards }) => afterwards !== undefined)
      .flatMap((limit) => partsOf(limit, names)),
  );
  return found.reduce((most, each) => (tokenLength(each) > tokenLength(most) ? each : most), []);
}

function partsOf(limit: Limit, names: ReadonlyMap<Limit, LimitName>): TokenPart[] {
  const units = Math.max(limit.quota.burst, limit.cost, limit.afterwards?.unknown ?? 0);
  const part = (form: Limit, partition: string): TokenPart => ({
    name: names.get(form) ?? '',
    partition,
    units,
    momentMs: 0,
  });
  const { per, wider, unverified } = limit;
  if (per === 'global') return [part(limit, 'g')];
  if (per === 'descriptor') return [part(limit, digestLike('d', per))];
  const plain = [limit, ...wider];
  // Claimed by a key that is not listed, a request counts by the address, too.
  const counted = unverified === undefined ? plain : [unverified, ...unverified.wider];
  const claimed = unverified === undefined ? [] : [part(limit, digestLike('k', per))];
  const addresses = counted.flatMap((form, i) => {
    const salt = limit.isLong ? 'long' : 'daily';
    return ['previous', 'current'].map((name) => part(form, digestLike('i', salt + name + i)));
  });
  return [...claimed, ...addresses];
}

/** A partition as long as a real one, and unlike those of other texts. */
function digestLike(kind: string, text: string): string {
  return `${kind}.${Buffer.from(text).toString('base64url').padEnd(22, '_').slice(0, 22)}`;
}
