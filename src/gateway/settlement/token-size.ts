/** Whether tokens fit: the largest one that requests of a policy can get. */
import type { Limit, Policy } from '../core/policy.ts';
import { type LimitName, limitIndex, limitLists, limitNames } from './limit-names.ts';
import { LONGEST_TOKEN, type TokenPart, tokenLength } from './token.ts';

export interface TokenMistake {
  /** The name of the policy. */
  readonly policy: string;
  readonly message: string;
}

/** `always`: the policies that apply in addition to others. */
export function tokenMistakes(
  policies: readonly Policy[],
  always: readonly Policy[],
): TokenMistake[] {
  const clashes = limitIndex(policies).clashes.map((policy) => ({
    policy,
    message: 'a limit has the same short name in settle tokens as another one: rename the policy',
  }));
  const tooLong = policies.flatMap((policy) => {
    if (!policy.settles) return [];
    const besides = always.filter((each) => each !== policy && each.settles);
    const length = largestToken([policy, ...besides]);
    if (length <= LONGEST_TOKEN) return [];
    const among = besides.length === 0 ? '' : ' together with those of policies with always: true';
    const message = `limits with reserve or refund${among} need a settle token of ${length} characters, the maximum is ${LONGEST_TOKEN}: use fewer of them, or fewer ipv6_prefixes`;
    return [{ policy: policy.name, message }];
  });
  return [...clashes, ...tooLong];
}

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
    digest: names.get(form)?.digest ?? '',
    form: names.get(form)?.form ?? 0,
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
