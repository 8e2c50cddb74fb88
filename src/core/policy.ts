/** Policies as they are after loading: everything that a request would otherwise have to work out, worked out. */
import { MAX_LIMIT, type Quota, SHORT_NAMES } from './store.ts';

export type NamedPartition = 'client' | 'ip' | 'api_key' | 'user' | 'global';
/** `header:x-tenant`: whoever the value of that request header stands for. */
export type HeaderPartition = `header:${string}`;
export type Partition = NamedPartition | HeaderPartition;

/** What happens to a request whose quota could not be measured. */
export type StoreFailureMode = 'allow' | 'deny' | 'local';

/** Whether a policy denies anybody: `shadow` counts and reports alone, `off` does nothing. */
export const POLICY_MODES = ['enforce', 'shadow', 'off'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

export interface Limit {
  readonly policy: Policy;
  readonly per: Partition;
  readonly quota: Quota;
  /** Units that one request takes from this limit. */
  readonly cost: number;
  /** What follows the partition in a store key. It names the window and not the number: raising a limit keeps the counts. */
  readonly keySuffix: string;
  /** The name in RateLimit fields, unique in the policy file: `login`, `login:ip:5min`. */
  readonly label: string;
  /** This limit in a RateLimit-Policy field: `"login";q=5;w=300` */
  readonly policyItem: string;
  /** `5 requests per 5 minutes` */
  readonly description: string;
  /**
   * The same limit for the address behind a key that nobody vouches for. It counts in the address's own log, so that
   * coming with and without keys does not add up to more than this.
   */
  readonly unverified: Limit | undefined;
  /** The same limit for the wider IPv6 networks of an address, in the order of its partitions. */
  readonly wider: readonly Limit[];
}

export interface Policy {
  readonly name: string;
  readonly mode: PolicyMode;
  readonly limits: readonly Limit[];
  /** What clients with a listed key of these plans get instead. */
  readonly plans: ReadonlyMap<string, readonly Limit[]>;
  readonly onStoreFailure: StoreFailureMode;
}

export interface LimitDefinition extends Quota {
  readonly per: Partition;
  /** The window as it was written: `5min`. */
  readonly window: string;
}

export interface PolicyDefinition {
  readonly name: string;
  readonly mode?: PolicyMode;
  readonly cost: number;
  readonly limits: readonly LimitDefinition[];
  readonly plans: ReadonlyMap<string, readonly LimitDefinition[]>;
  readonly onStoreFailure: StoreFailureMode;
}

/** What a limit is multiplied by where it counts something wider than the client that it is written for. */
export interface Factors {
  /** For an address, over all the keys that it comes with and nobody vouches for. */
  readonly unverified: number;
  /** For the IPv6 networks around an address's own, narrowest first. */
  readonly widerNetworks: readonly { readonly prefixBits: number; readonly factor: number }[];
}

export function compilePolicy(definition: PolicyDefinition, factors: Factors): Policy {
  const { name, mode = 'enforce', onStoreFailure } = definition;
  const limits: Limit[] = [];
  const plans = new Map<string, readonly Limit[]>();
  const policy: Policy = { name, mode, limits, plans, onStoreFailure };
  const compileAll = (written: readonly LimitDefinition[]) =>
    written.map((each, index) =>
      compileLimit(each, labelOf(name, each, index), { policy, cost: definition.cost }, factors),
    );
  limits.push(...compileAll(definition.limits));
  for (const [plan, written] of definition.plans) plans.set(plan, compileAll(written));
  return policy;
}

function compileLimit(
  written: LimitDefinition,
  label: string,
  owner: { readonly policy: Policy; readonly cost: number },
  factors: Factors,
): Limit {
  const { per, window, windowMs } = written;
  const kind = kindOf(written);
  const counted = (factor: number, suffix: string, among: string) => {
    const quota = multiplied(written, factor);
    return {
      ...owner,
      per,
      quota,
      // What one algorithm left behind means nothing to another.
      keySuffix: `}:${owner.policy.name}:${per}.${windowMs}${kind && `.${kind}`}`,
      label: label + suffix,
      policyItem: `"${label}${suffix}";q=${quota.burst};w=${secondsToRefill(quota)}`,
      description: describeQuota(quota, window) + among,
    };
  };
  const wider = (factor: number, suffix: string): Limit[] =>
    per === 'global'
      ? []
      : factors.widerNetworks.map(({ prefixBits, factor: networkFactor }) => {
          const network = `${suffix}:ipv6-${prefixBits}`;
          const among = ` from one IPv6 /${prefixBits} network`;
          const limit = counted(factor * networkFactor, network, among);
          return { ...limit, unverified: undefined, wider: [] };
        });
  const unverified = (suffix: string): Limit => ({
    ...counted(factors.unverified, suffix, ''),
    unverified: undefined,
    wider: wider(factors.unverified, suffix),
  });
  return {
    ...counted(1, '', ''),
    unverified: isClaimed(per) ? unverified(':unverified') : undefined,
    wider: wider(1, ''),
  };
}

/** The first limit of a policy goes by its name alone. */
function labelOf(name: string, limit: LimitDefinition, index: number): string {
  if (index === 0) return name;
  return [name, limit.per, limit.window, kindOf(limit)].filter((part) => part !== '').join(':');
}

function kindOf({ algorithm }: Quota): string {
  return algorithm === 'sliding-window-log' ? '' : SHORT_NAMES[algorithm];
}

/** Shares that go by something that anybody can make up. */
function isClaimed(per: Partition): boolean {
  return per === 'client' || per === 'api_key' || per.startsWith('header:');
}

function multiplied(
  { algorithm, limit, windowMs, burst, countRejected }: Quota,
  factor: number,
): Quota {
  return {
    algorithm,
    limit: Math.min(limit * factor, MAX_LIMIT),
    windowMs,
    burst: Math.min(burst * factor, MAX_LIMIT),
    countRejected,
  };
}

/** In how many seconds there is as much as there can be at one moment. A window's length, but for token buckets. */
function secondsToRefill({ burst, limit, windowMs }: Quota): number {
  return Math.ceil((burst * windowMs) / limit / 1000);
}

function describeQuota({ algorithm, limit, burst }: Quota, window: string): string {
  const rate = `${plural(limit, 'request')} per ${windowWords(window)}`;
  return algorithm === 'token-bucket' ? `${rate}, at most ${burst} at once` : rate;
}

/** The policy whose tightest personal limit admits the fewest requests over time: for requests that nobody can place. */
export function strictestOf(
  policies: readonly Policy[],
  isEnforced = ({ mode }: Policy) => mode === 'enforce',
): Policy | undefined {
  let strictest: Policy | undefined;
  let lowestRate = Number.POSITIVE_INFINITY;
  for (const policy of policies) {
    if (!isEnforced(policy)) continue;
    for (const limit of policy.limits) {
      const rate = limit.quota.limit / limit.cost / limit.quota.windowMs;
      if (limit.per !== 'global' && rate < lowestRate) {
        lowestRate = rate;
        strictest = policy;
      }
    }
  }
  return strictest ?? policies[0];
}

const UNIT_WORDS: Readonly<Record<string, string>> = {
  s: 'second',
  min: 'minute',
  h: 'hour',
  d: 'day',
};

function windowWords(window: string): string {
  const count = Number.parseInt(window, 10);
  const unit = UNIT_WORDS[window.slice(String(count).length)] ?? 'window';
  return count === 1 ? unit : `${count} ${unit}s`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
