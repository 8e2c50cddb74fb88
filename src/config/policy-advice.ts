/**
 * What `headgate check` says of a valid policy file besides its notes: what takes a while to find out, or depends on
 * today. Each piece of advice is a warning: something is likely not what the author of the file thinks it is.
 */
import { METHODS } from 'node:http';
import { type Policy, strictestOf } from '../core/policy.ts';
import type { PolicySet } from '../core/policy-set.ts';
import type { AccessList } from './access-schema.ts';
import { hint } from './closest-word.ts';
import type { IdentitySection } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import type { DefaultEntry, PolicyEntry } from './policy-schema.ts';
import { simpleSpellingsOf } from './spellings.ts';
import type { Path } from './yaml-text.ts';

export interface AdvisedFile {
  readonly identity: IdentitySection;
  readonly keys: readonly KeyEntry[];
  readonly exempt: AccessList;
  readonly block: AccessList;
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

export interface Advice {
  readonly path: Path;
  readonly message: string;
}

/** About a second's work. */
const MOST_PROBED = 500;

export function adviceOn(file: AdvisedFile, policySet: PolicySet, nowMs: number): Advice[] {
  const probed = file.entries.slice(0, MOST_PROBED);
  const left = file.entries.length - probed.length;
  return [
    ...probed.flatMap((entry, i) => adviceOnPolicy(entry, ['policies', i], policySet)),
    ...(left > 0
      ? [
          {
            path: ['policies', MOST_PROBED],
            message: `the last ${left} policies were not tried with other spellings`,
          },
        ]
      : []),
    ...adviceOnPlans(file),
    ...adviceOnKeys(file),
    ...adviceOnList('exempt', file.exempt, nowMs),
    ...adviceOnList('block', file.block, nowMs),
  ];
}

function adviceOnPolicy(entry: PolicyEntry, at: Path, policySet: PolicySet): Advice[] {
  const unknown = methodsOf(entry).find((method) => !METHODS.includes(method));
  if (unknown !== undefined) {
    const message = `no client sends ${unknown}${hint(unknown, METHODS)}`;
    return [{ path: [...at, 'match', 'method'], message }];
  }
  const policy = policySet.policies.find(({ name }) => name === entry.name);
  if (policy === undefined) return [];
  return [
    ...unreached(entry, policy, at, policySet),
    ...laxSpellings(entry, policy, at, policySet),
  ];
}

/** A policy whose own requests are all held to others. */
function unreached(entry: PolicyEntry, policy: Policy, at: Path, policySet: PolicySet): Advice[] {
  const applied = methodsOf(entry).map((method) => policiesFor(policySet, entry, method));
  if (applied.some((policies) => policies.includes(policy))) return [];
  const other = applied[0]?.[0]?.name ?? 'none';
  return [{ path: at, message: `never matches: its requests are held to "${other}"` }];
}

/** Spellings of a path that some server takes for it, and that only a laxer policy is asked about. */
function laxSpellings(
  entry: PolicyEntry,
  policy: Policy,
  at: Path,
  policySet: PolicySet,
): Advice[] {
  const [method = 'GET'] = methodsOf(entry);
  const lax = simpleSpellingsOf(samplePath(entry)).filter((target) => {
    const applied = policiesFor(policySet, entry, method, target);
    return applied.length > 0 && !applied.includes(policy) && isLaxer(applied, policy);
  });
  const [example] = lax;
  if (example === undefined) return [];
  const others = policiesFor(policySet, entry, method, example).map(({ name }) => `"${name}"`);
  const message =
    `${lax.length} spellings of its path are held to laxer policies alone: ` +
    `"${example}" to ${others.join(' and ')}, should the application take it for the same`;
  return [{ path: [...at, 'match', 'path'], message }];
}

/** Whether what is left of a policy by its strictest rival admits more requests over time. */
function isLaxer(applied: readonly Policy[], policy: Policy): boolean {
  return strictestOf([...applied, policy]) === policy;
}

function policiesFor(
  policySet: PolicySet,
  entry: PolicyEntry,
  method: string,
  target = samplePath(entry),
): readonly Policy[] {
  const host = entry.match?.host?.replace('*', 'a') ?? 'a.example';
  return policySet.policiesFor({ method, host, target, policy: undefined, missing: [] });
}

function methodsOf({ match }: PolicyEntry): string[] {
  return match?.method === undefined ? ['GET'] : [match.method].flat();
}

/** A path that the policy is for: parameters and the rest of it filled with what no other policy is likely to name. */
function samplePath({ match }: PolicyEntry): string {
  return (match?.path ?? '/*')
    .split('/')
    .map((segment) => (segment.startsWith(':') || segment === '*' ? 'a-sample' : segment))
    .join('/');
}

/** Whether the networks of Cloudflare are trusted with anything. */
export function namesCloudflare({ identity, exempt, block }: AdvisedFile): boolean {
  const ranges = identity.sources.flatMap((source) =>
    typeof source === 'object' && source.from !== 'proxy' ? source.from : [],
  );
  const listed = [...exempt, ...block].map(({ address }) => address);
  return (
    identity.sources.includes('cf_connecting_ip') ||
    [...identity.trusted_proxies, ...ranges, ...listed].includes('cloudflare')
  );
}

/** A plan that no policy knows is mostly one that is spelled differently there. */
function adviceOnPlans({ identity, keys, fallback, entries }: AdvisedFile): Advice[] {
  const known = [fallback, ...entries].flatMap(({ plans }) => Object.keys(plans));
  const unknown = new Set(
    keys.flatMap(({ plan }) => plan ?? []).filter((plan) => !known.includes(plan)),
  );
  const isInline = typeof identity.api_key.keys !== 'string';
  return [...unknown].map((plan) => {
    const index = keys.findIndex((key) => key.plan === plan);
    return {
      path: ['identity', 'api_key', 'keys', ...(isInline ? [index, 'plan'] : [])],
      message: `no policy has limits for the plan "${plan}" of "${keys[index]?.id}"${hint(plan, known)}`,
    };
  });
}

/** Keys that no source reads, and plans that no key has. */
function adviceOnKeys({ identity, keys, fallback, entries }: AdvisedFile): Advice[] {
  if (keys.length === 0) return [];
  if (!identity.sources.includes('api_key')) {
    const message = 'are not read, since identity.sources has no api_key';
    return [{ path: ['identity', 'api_key', 'keys'], message }];
  }
  const held = [...new Set(keys.flatMap(({ plan }) => plan ?? []))];
  const unheld = ({ plans }: DefaultEntry, at: Path): Advice[] =>
    Object.keys(plans)
      .filter((plan) => !held.includes(plan))
      .map((plan) => ({
        path: [...at, 'plans', plan],
        message: `no listed key has this plan${hint(plan, held)}`,
      }));
  return [
    ...unheld(fallback, ['default']),
    ...entries.flatMap((entry, i) => unheld(entry, ['policies', i])),
  ];
}

function adviceOnList(section: 'exempt' | 'block', list: AccessList, nowMs: number): Advice[] {
  return list.flatMap(({ expires }, index) =>
    expires !== undefined && expires <= nowMs
      ? [{ path: [section, index], message: 'has expired, remove it' }]
      : [],
  );
}
