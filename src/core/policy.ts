/** Policies as they are after loading: everything that a request would otherwise have to work out, worked out. */

export type Partition = 'client' | 'ip' | 'api_key' | 'user' | 'global';

/** What happens to a request whose quota could not be measured. */
export type StoreFailureMode = 'allow' | 'deny' | 'local';

/** The greatest number of requests that one window may hold. */
export interface Quota {
  readonly limit: number;
  readonly windowMs: number;
}

export interface Limit extends Quota {
  readonly policy: Policy;
  readonly per: Partition;
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

export interface PolicyDefinition {
  readonly name: string;
  readonly cost: number;
  readonly limits: readonly (Quota & { readonly per: Partition; readonly window: string })[];
  readonly onStoreFailure: StoreFailureMode;
}

export function compilePolicy(definition: PolicyDefinition, unverifiedFactor: number): Policy {
  const limits: Limit[] = [];
  const policy: Policy = {
    name: definition.name,
    limits,
    onStoreFailure: definition.onStoreFailure,
  };
  for (const [index, { limit, windowMs, per, window }] of definition.limits.entries()) {
    const label = index === 0 ? definition.name : `${definition.name}:${per}:${window}`;
    const shared = {
      policy,
      per,
      windowMs,
      cost: definition.cost,
      keySuffix: `}:${definition.name}:${per}.${windowMs}`,
    };
    const factored = limit * unverifiedFactor;
    limits.push({
      ...shared,
      ...named({ limit, label, window, windowMs }),
      unverified:
        per === 'client' || per === 'api_key'
          ? {
              ...shared,
              ...named({ limit: factored, label: `${label}:unverified`, window, windowMs }),
              unverified: undefined,
            }
          : undefined,
    });
  }
  return policy;
}

/** The policy whose tightest personal limit admits the fewest requests over time: for requests that nobody can place. */
export function strictestOf(policies: readonly Policy[]): Policy | undefined {
  let strictest: Policy | undefined;
  let lowestRate = Number.POSITIVE_INFINITY;
  for (const policy of policies) {
    for (const limit of policy.limits) {
      const rate = limit.limit / limit.cost / limit.windowMs;
      if (limit.per !== 'global' && rate < lowestRate) {
        lowestRate = rate;
        strictest = policy;
      }
    }
  }
  return strictest ?? policies[0];
}

function named(quota: Quota & { readonly label: string; readonly window: string }) {
  const { limit, label, window, windowMs } = quota;
  return {
    limit,
    label,
    policyItem: `"${label}";q=${limit};w=${windowMs / 1000}`,
    description: `${plural(limit, 'request')} per ${windowWords(window)}`,
  };
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
