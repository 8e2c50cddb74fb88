/** Compiles policies when the file is loaded, so that nothing is computed per request that could be computed once. */
import type { AnswerStyle, HeaderForm } from './answer-style.ts';
import { multiplied } from './counting/largest-limit.ts';
import {
  describeQuota,
  keyWindow,
  kindOf,
  policyItem,
  windowLabel,
} from './counting/limit-text.ts';
import {
  type Lookback,
  lookbackOf,
  type Memory,
  memoryOf,
  NO_LOOKBACK,
} from './counting/lookback.ts';
import type { Afterwards } from './counting/outcome.ts';
import type { Quota } from './counting/store.ts';

export type NamedPartition = 'client' | 'ip' | 'api_key' | 'user' | 'global';
/** What Envoy's rate limit filter sends in place of a client. Policy files cannot name it. */
type DescriptorPartition = 'descriptor';
/** `header:x-tenant`: one share for each value of that request header. */
export type HeaderPartition = `header:${string}`;
export type Partition = NamedPartition | HeaderPartition | DescriptorPartition;

export type StoreFailureMode = 'allow' | 'deny' | 'local';

/** Only `enforce` denies requests. `shadow` counts and reports; `off` does nothing. */
export const POLICY_MODES = ['enforce', 'shadow', 'off'] as const;
export type PolicyMode = (typeof POLICY_MODES)[number];

export interface Limit extends Memory {
  readonly policy: Policy;
  readonly per: Partition;
  readonly quota: Quota;
  /** What a request takes. A limit that reads its reservation from the request has the one for unknown values here. */
  readonly cost: number;
  /** Undefined if the limit counts a request once and for all when it arrives. */
  readonly afterwards: Afterwards | undefined;
  /** The part of a store key after the partition. It names the window, not the limit, so raising a limit keeps the counts. */
  readonly keySuffix: string;
  /** The name in RateLimit headers, unique in the policy file: `login`, `login:ip:5min`. */
  readonly label: string;
  /** `"login";q=5;w=300` */
  readonly policyItem: string;
  /** `5 requests per 5 minutes` */
  readonly description: string;
  /** For the address of a client with an unverified key. It shares its counter with the address without a key. */
  readonly unverified: Limit | undefined;
  /** The same limit for the wider IPv6 networks of an address, in the order of its partitions. */
  readonly wider: readonly Limit[];
}

export interface Policy {
  readonly name: string;
  readonly mode: PolicyMode;
  readonly limits: readonly Limit[];
  /** They replace `limits` for clients whose listed key has the plan. */
  readonly plans: ReadonlyMap<string, readonly Limit[]>;
  readonly onStoreFailure: StoreFailureMode;
  readonly lookback: Lookback;
  /** Some of its limits charge afterwards. */
  readonly settles: boolean;
  /** Undefined: as the policy file says for all. */
  readonly answers: AnswerStyle | undefined;
  /** How clients are told its limits. With `off` they learn no number of them. */
  readonly headers: HeaderForm;
}

export interface LimitDefinition extends Quota {
  readonly per: Partition;
  /** The window as written in the policy file: `5min`, or `month`. */
  readonly window: string;
  readonly afterwards?: Afterwards | undefined;
}

export interface PolicyDefinition extends Partial<Pick<Policy, 'mode' | 'answers' | 'headers'>> {
  readonly name: string;
  readonly cost: number;
  readonly limits: readonly LimitDefinition[];
  readonly plans: ReadonlyMap<string, readonly LimitDefinition[]>;
  readonly onStoreFailure: StoreFailureMode;
}

/** The factors by which a limit is multiplied if it counts more than one client. */
export interface Factors {
  /** Multiplies the limit of an address over all the unverified keys that it sends. */
  readonly unverified: number;
  /** Multiply the limits of the wider IPv6 networks of an address, narrowest first. */
  readonly widerNetworks: readonly { readonly prefixBits: number; readonly factor: number }[];
}

export function compilePolicy(definition: PolicyDefinition, factors: Factors): Policy {
  const { name, mode = 'enforce', onStoreFailure, answers, headers = 'standard' } = definition;
  const limits: Limit[] = [];
  const plans = new Map<string, readonly Limit[]>();
  const unfinished = { lookback: NO_LOOKBACK, settles: false };
  const policy = { name, mode, limits, plans, onStoreFailure, answers, headers, ...unfinished };
  const compileAll = (written: readonly LimitDefinition[]) =>
    written.map((each, index) =>
      compileLimit(
        each,
        { policy, cost: definition.cost, label: labelOf(name, each, index) },
        factors,
      ),
    );
  limits.push(...compileAll(definition.limits));
  for (const [plan, written] of definition.plans) plans.set(plan, compileAll(written));
  policy.settles = everyLimit(policy).some(({ afterwards }) => afterwards !== undefined);
  policy.lookback = lookbackOf(everyLimit(policy).filter(countsAddresses).flatMap(formsOf));
  return policy;
}

export function everyLimit({ limits, plans }: Pick<Policy, 'limits' | 'plans'>): Limit[] {
  return [limits, ...plans.values()].flat();
}

/** The names of enforced policies for each value of `on_store_failure`. Other policies deny nobody, so they are left out. */
export type PoliciesByFailureMode = Readonly<Record<StoreFailureMode, readonly string[]>>;

export function byFailureMode(policies: readonly Policy[]): PoliciesByFailureMode {
  const namesOf = (mode: StoreFailureMode) =>
    policies
      .filter((policy) => policy.mode === 'enforce' && policy.onStoreFailure === mode)
      .map(({ name }) => name);
  return { allow: namesOf('allow'), local: namesOf('local'), deny: namesOf('deny') };
}

/** A limit, and what stands for it when it counts more than one client. */
export function formsOf(limit: Limit): Limit[] {
  const { wider, unverified } = limit;
  return [limit, ...wider, ...(unverified ? [unverified, ...unverified.wider] : [])];
}

function countsAddresses({ per }: Limit): boolean {
  return per !== 'global' && per !== 'descriptor';
}

type LimitOwner = Pick<Limit, 'policy' | 'cost' | 'label'>;

interface Scale {
  readonly factor: number;
  readonly suffix: string;
  readonly among: string;
}

const AS_WRITTEN: Scale = { factor: 1, suffix: '', among: '' };

function compileLimit(written: LimitDefinition, owner: LimitOwner, factors: Factors): Limit {
  const withNetworks = (scale: Scale, unverified?: Limit): Limit => ({
    ...scaledLimit(written, owner, scale),
    unverified,
    wider: written.per === 'global' ? [] : networkLimits(scale),
  });
  const networkLimits = (scale: Scale): Limit[] =>
    factors.widerNetworks.map(({ prefixBits, factor }) => ({
      ...scaledLimit(written, owner, {
        factor: scale.factor * factor,
        suffix: `${scale.suffix}:ipv6-${prefixBits}`,
        among: ` from one IPv6 /${prefixBits} network`,
      }),
      unverified: undefined,
      wider: [],
    }));
  if (!isClaimed(written.per)) return withNetworks(AS_WRITTEN);
  const scale = { ...AS_WRITTEN, factor: factors.unverified, suffix: ':unverified' };
  return withNetworks(AS_WRITTEN, withNetworks(scale));
}

function scaledLimit(
  written: LimitDefinition,
  { policy, cost, label }: LimitOwner,
  { factor, suffix, among }: Scale,
): Omit<Limit, 'unverified' | 'wider'> {
  const { per, window, afterwards } = written;
  const unit = afterwards?.unit;
  const quota = multiplied(written, factor, unit !== undefined);
  return {
    policy,
    cost: Math.min(usualReservation(afterwards) ?? cost, quota.burst),
    per,
    quota,
    afterwards,
    ...memoryOf(quota),
    keySuffix: joined('}:', policy.name, ':', per, '.', keyWindow(written), unitSuffix(unit)),
    label: joined(label, suffix),
    policyItem: joined(policyItem(label + suffix, quota, unit)),
    description: describeQuota(quota, window, unit) + among,
  };
}

/** Undefined if requests take the cost of the policy. */
function usualReservation(afterwards: Afterwards | undefined): number | undefined {
  const reserve = afterwards?.reserve;
  return typeof reserve === 'object' ? afterwards?.unknown : reserve;
}

/** Counters of different units are different counters. */
function unitSuffix(unit: string | undefined): string {
  return unit === undefined ? '' : `.${unit}`;
}

/** One piece of memory. V8 keeps the parts of a template apart, so every request would read each of them. */
function joined(...parts: readonly (string | number)[]): string {
  return parts.join('');
}

/** The first limit of a policy has the name of the policy. */
function labelOf(name: string, limit: LimitDefinition, index: number): string {
  if (index === 0) return name;
  const parts = [name, limit.per, windowLabel(limit), kindOf(limit), limit.afterwards?.unit ?? ''];
  return parts.filter((part) => part !== '').join(':');
}

/** Clients can invent what the limit is per. */
export function isClaimed(per: Partition): boolean {
  return per === 'client' || per === 'api_key' || per.startsWith('header:');
}
