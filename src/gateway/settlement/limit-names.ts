/**
 * How tokens name limits: by a digest of policy, plan and key suffix, and the form. A policy file in another
 * order keeps the meaning of tokens, and a limit that is no longer there has no name.
 */
import { hash } from 'node:crypto';
import { formsOf, type Limit, type Policy } from '../core/policy.ts';
import { digits } from './digits.ts';

/** Characters of base64url: 48 bits. */
export const DIGEST_LENGTH = 8;
/** Digits. 0: as written. The bits of the prefix for wider IPv6 networks, and 128 more for clients with an unverified key. */
export const FORM_LENGTH = 2;
const UNVERIFIED = 128;

/** The digest, then the form. */
export type LimitName = string;

const namesByPolicy = new WeakMap<Policy, ReadonlyMap<Limit, LimitName>>();
const indexes = new WeakMap<readonly Policy[], ReadonlyMap<LimitName, Limit>>();

/** The names of the limits that charge afterwards, computed once for each policy of a file. */
export function limitNames(policy: Policy): ReadonlyMap<Limit, LimitName> {
  let names = namesByPolicy.get(policy);
  if (names === undefined) {
    const lists = [[null, policy.limits] as const, ...policy.plans];
    names = new Map(lists.flatMap(([plan, limits]) => namesOf(policy, plan, limits)));
    namesByPolicy.set(policy, names);
  }
  return names;
}

/** The limits of a file by their names. Digests of 48 bits tell apart those of any file. */
export function limitIndex(policies: readonly Policy[]): ReadonlyMap<LimitName, Limit> {
  let index = indexes.get(policies);
  if (index === undefined) {
    const named = policies.flatMap((policy) => [...limitNames(policy)]);
    index = new Map(named.map(([limit, name]) => [name, limit]));
    indexes.set(policies, index);
  }
  return index;
}

function namesOf(policy: Policy, plan: string | null, limits: readonly Limit[]) {
  return limits
    .filter(({ afterwards }) => afterwards !== undefined)
    .flatMap((limit) => {
      const digest = digestOf([policy.name, plan, limit.keySuffix]);
      return formsOf(limit).map((form) => {
        return [form, digest + digits(formNumber(form, limit), FORM_LENGTH)] as const;
      });
    });
}

function digestOf(parts: readonly (string | null)[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, DIGEST_LENGTH);
}

/** The label ends with the form: `login:ip:5min:unverified:ipv6-56`. */
function formNumber({ label }: Limit, written: Limit): number {
  const suffix = label.slice(written.label.length);
  const prefixBits = Number(/:ipv6-(\d+)$/.exec(suffix)?.[1] ?? 0);
  return prefixBits + (suffix.startsWith(':unverified') ? UNVERIFIED : 0);
}
