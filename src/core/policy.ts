/** Policies as they are after loading: everything that a request would otherwise have to work out, worked out. */
import { MAX_LIMIT, type Quota, SHORT_NAMES } from './store.ts';

export type NamedPartition = 'client' | 'ip' | 'api_key' | 'user' | 'global';
/** `header:x-tenant`: whoever the value of that request header stands for. */
export type HeaderPartition = `header:${string}`;
export type Partition = NamedPartition | HeaderPartition;

/** What happens to a request whose quota could not be measured. */
export type StoreFailureMode = 'allow' | 'deny' | 'local';

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
}

export interface Policy {
  readonly name: string;
  readonly limits: readonly Limit[];
  readonly onStoreFailure: StoreFailureMode;
}

export interface LimitDefinition extends Quota {
  readonly per: Partition;
  /** The window as it was written: `5min`. */
  readonly window: string;
}

export interface PolicyDefinition {
  readonly name: string;
  readonly cost: number;
  readonly limits: readonly LimitDefinition[];
  readonly onStoreFailure: StoreFailureMode;
}

export function compilePolicy(definition: PolicyDefinition, unverifiedFactor: number): Policy {
  const { name, cost, onStoreFailure } = definition;
  const limits: Limit[] = [];
  const policy: Policy = { name, limits, onStoreFailure };
  for (const [index, written] of definition.limits.entries()) {
    const { per, window, algorithm, windowMs } = written;
    const kind = algorithm === 'sliding-window-log' ? '' : SHORT_NAMES[algorithm];
    const label =
      index === 0 ? name : [name, per, window, kind].filter((part) => part !== '').join(':');
    // What one algorithm left behind means nothing to another.
    const keySuffix = `}:${name}:${per}.${windowMs}${kind && `.${kind}`}`;
    const compiled = (quota: Quota, labelled: string, unverified: Limit | undefined): Limit => ({
      policy,
      per,
      quota,
      cost,
      keySuffix,
      label: labelled,
      policyItem: `"${labelled}";q=${quota.burst};w=${secondsToRefill(quota)}`,
      description: describeQuota(quota, window),
      unverified,
    });
    const unverified = isClaimed(per)
      ? compiled(multiplied(written, unverifiedFactor), `${label}:unverified`, undefined)
      : undefined;
    limits.push(compiled(multiplied(written, 1), label, unverified));
  }
  return policy;
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
export function strictestOf(policies: readonly Policy[]): Policy | undefined {
  let strictest: Policy | undefined;
  let lowestRate = Number.POSITIVE_INFINITY;
  for (const policy of policies) {
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
