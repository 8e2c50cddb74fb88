/** The compiled policy file. A reload replaces it as a whole. */
import type { AnswerStyle } from '../answer-style.ts';
import type { NeededHeader } from '../header-watch.ts';
import type { HeaderConfig } from '../identity/claims.ts';
import type { Identity, IdentityConfig } from '../identity/identity.ts';
import { compileListedClients, type ListedClients } from '../identity/listed-clients.ts';
import type { Policy } from '../policy.ts';
import {
  compileMatching,
  type MatchingDefinition,
  type PoliciesFor,
  type RequestLine,
} from './policies-for.ts';

/** The parts of a policy file that a policy set has as they are. */
interface PolicySetParts extends Identity {
  readonly fallback: Policy;
  readonly naming: Naming;
  readonly neededHeaders: readonly NeededHeader[];
  readonly answers: AnswerStyle;
}

export interface PolicySetDefinition extends PolicySetParts, MatchingDefinition {
  /** How answers look on paths with policies for MCP calls. */
  readonly mcpAnswers: AnswerStyle;
}

export interface PolicySet extends PolicySetParts {
  readonly policies: readonly Policy[];
  readonly listedClients: ListedClients;
  /** The policy file takes API keys from the store. */
  readonly keysInStore: boolean;
  /** A limit that may count addresses remembers units for longer than a day. */
  readonly hasLongWindows: boolean;
  has(name: string): boolean;
  /** Whether a policy has limits for this plan. */
  hasPlan(plan: string): boolean;
  readonly policiesFor: PoliciesFor;
  /**
   * How the answer to a denied request looks, if not like others. `applied` is empty if it was refused before policies
   * were looked at.
   */
  answersFor(request: RequestLine, applied: readonly Policy[]): AnswerStyle | undefined;
}

/** What operators need to name a client by its address or key as requests do. */
export type Naming = Omit<IdentityConfig, keyof HeaderConfig | 'rememberedAddresses'>;

export function compilePolicySet(definition: PolicySetDefinition): PolicySet {
  const { routes, always, mcpAnswers, caseSensitive: _1, vouchesMcp: _2, ...parts } = definition;
  const policies = [...new Set([...routes, ...always].map(({ value }) => value)), parts.fallback];
  const byName = new Map(policies.map((policy) => [policy.name, policy]));
  const plans = new Set(policies.flatMap((policy) => [...policy.plans.keys()]));
  const hasPlan = (plan: string) => plans.has(plan);
  const { policiesFor, isMcp } = compileMatching(definition, policies, byName);
  return {
    ...parts,
    policies,
    listedClients: compileListedClients(parts.naming.apiKeys, hasPlan),
    keysInStore: parts.naming.keysInStore === true,
    hasLongWindows: policies.some(({ lookback }) => lookback.longMs > 0),
    has: (name) => byName.has(name),
    hasPlan,
    policiesFor,
    answersFor: (request, [first]) => first?.answers ?? (isMcp(request) ? mcpAnswers : undefined),
  };
}
