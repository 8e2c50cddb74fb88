/** Compiles a valid policy file to the policy set that decides requests. */
import { Calendar } from '../../core/counting/calendar.ts';
import { compileIdentity } from '../../core/identity/identity.ts';
import { compilePolicySet, type PolicySet } from '../../core/matching/policy-set.ts';
import {
  compilePolicy,
  type Factors,
  type LimitDefinition,
  type Policy,
  type StoreFailureMode,
} from '../../core/policy.ts';
import type { AccessList } from './access-schema.ts';
import {
  type KnownRanges,
  neededHeaders,
  prefixesOf,
  toIdentityConfig,
} from './identity-config.ts';
import type { IdentitySection } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import { allLimits, type LimitEntry } from './limit-schema.ts';
import type { AnswersSection } from './policy-file-schema.ts';
import type { DefaultEntry, PolicyEntry } from './policy-schema.ts';
import { routeMatchOf } from './route.ts';

/** What a policy file says. Plain data, since another thread may have read it. */
export interface ValidFile {
  readonly identity: IdentitySection;
  readonly keys: readonly KeyEntry[];
  readonly answers: AnswersSection;
  readonly exempt: AccessList;
  readonly block: AccessList;
  readonly caseSensitive: boolean;
  /** Applies to policies without `on_store_failure`. */
  readonly failureMode: StoreFailureMode;
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

/** `rememberedAddresses`: see the address book of the core. */
export function compilePolicies(
  file: ValidFile,
  ranges: KnownRanges,
  rememberedAddresses?: number,
): PolicySet {
  const { identity, answers, caseSensitive, failureMode, fallback, entries } = file;
  const factors: Factors = {
    unverified: identity.api_key.unverified_factor,
    widerNetworks: prefixesOf(identity).slice(1),
  };
  const policyOf = (entry: DefaultEntry & { readonly name: string }) =>
    toPolicy({ ...entry, on_store_failure: entry.on_store_failure ?? failureMode }, factors);
  const routesOf = (always: boolean) =>
    entries
      .filter((entry) => entry.always === always)
      .map((entry) => ({ ...routeMatchOf(entry, caseSensitive), value: policyOf(entry) }));
  const limits = [fallback, ...entries].flatMap(allLimits);
  const identityConfig = toIdentityConfig({ ...file, limits }, ranges);
  return compilePolicySet({
    routes: routesOf(false),
    always: routesOf(true),
    fallback: policyOf({ ...fallback, name: 'default' }),
    identify: compileIdentity({ ...identityConfig, rememberedAddresses }),
    naming: identityConfig,
    neededHeaders: neededHeaders(identityConfig),
    answers: {
      reset: answers.reset,
      retryAfterJitterSeconds: answers.retry_after_jitter_seconds,
      body: answers.body,
    },
    caseSensitive,
  });
}

interface NamedEntry extends DefaultEntry {
  readonly name: string;
  readonly on_store_failure: StoreFailureMode;
}

function toPolicy(entry: NamedEntry, factors: Factors): Policy {
  const plans = Object.entries(entry.plans).map(
    ([plan, limits]) => [plan, limits.map(toLimitDefinition)] as const,
  );
  return compilePolicy(
    {
      name: entry.name,
      mode: entry.mode,
      cost: entry.cost,
      onStoreFailure: entry.on_store_failure,
      limits: entry.limits.map(toLimitDefinition),
      plans: new Map(plans),
    },
    factors,
  );
}

function toLimitDefinition({
  rate: { limit, window, windowMs, calendar: unit },
  zone = 'UTC',
  per,
  algorithm,
  burst = limit,
  count_rejected: countRejected,
}: LimitEntry): LimitDefinition {
  const written = { per, algorithm, limit, window, burst, countRejected };
  if (unit === undefined) return { ...written, windowMs };
  const calendar = new Calendar(unit, zone);
  return { ...written, windowMs: calendar.longestMs, calendar };
}
