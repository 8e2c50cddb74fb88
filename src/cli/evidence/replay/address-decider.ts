/**
 * Decides the requests of a log that tells clients apart by address alone: as the production check would, at a fraction of
 * its cost. The core matches policies, counts, and finds the limit that binds; this finds the client and what to count.
 */
import {
  BLOCKED,
  type Decision,
  EXEMPT,
  MALFORMED_PATH,
  notEnforced,
} from '../../../gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../../gateway/core/counting/descriptor.ts';
import { modeOf } from '../../../gateway/core/overrides.ts';
import type { Policy, PolicyMode } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import type { ClientBook, ClientEntry } from './client-book.ts';
import { CountedLimits, type Meters } from './counted-limits.ts';
import type { Decided, EntryDecider, EntryDeciderOptions } from './entry-decider.ts';
import { compileListedAccess } from './listed-access.ts';
import type { LogClients } from './log-clients.ts';
import { MatchedPolicies } from './matched-policies.ts';

interface Plan {
  readonly applied: readonly Policy[];
  /** Undefined if no policy is enforced. */
  readonly enforced: CountedLimits | undefined;
  readonly shadows: readonly CountedLimits[];
}

/** Only IPv6 addresses have wider networks. */
type Plans = Readonly<Record<'narrow' | 'wide', Plan>>;

export class AddressDecider implements EntryDecider {
  readonly #options: EntryDeciderOptions;
  readonly #clients: LogClients;
  readonly #book: ClientBook;
  readonly #plans: MatchedPolicies<Plans>;
  readonly #accessOf: ReturnType<typeof compileListedAccess>;
  readonly #meters = new Map<string, Meters>();

  constructor(options: EntryDeciderOptions) {
    const { policies, modes, clients, book } = options;
    this.#options = options;
    this.#clients = clients;
    this.#book = book;
    this.#plans = new MatchedPolicies(policies, modes, (applied) => ({
      narrow: this.#planOf(applied, false),
      wide: this.#planOf(applied, true),
    }));
    this.#accessOf = compileListedAccess(policies.naming);
  }

  decide(entry: LogEntry, nowMs: number): Decided | undefined {
    const found = this.#clients.find(entry);
    if (found === undefined) return undefined;
    const { wider } = found;
    const client = this.#book.entry(found.name);
    const access = this.#accessOf(found, nowMs);
    if (access === 'blocked') return uncounted(BLOCKED, client, NO_POLICIES);
    const plans = this.#plans.of(entry);
    const plan = wider.length === 0 ? plans.narrow : plans.wide;
    if (plan.applied.length === 0) return uncounted(MALFORMED_PATH, client, plan.applied);
    if (access === 'exempt') return uncounted(EXEMPT, client, plan.applied);
    const numbers = [client.number];
    for (const network of wider) numbers.push(this.#book.networkNumber(network, client));
    return { client, applied: plan.applied, ...counted(plan, numbers, nowMs) };
  }

  #planOf(applied: readonly Policy[], isWide: boolean): Plan {
    const { modes, isEvaluated } = this.#options;
    const inMode = (mode: PolicyMode) => applied.filter((each) => modeOf(each, modes) === mode);
    const countedLimits = (policies: readonly Policy[]) => {
      const limits = policies.flatMap((policy) => policy.limits);
      return new CountedLimits(limits.filter(isEvaluated), this.#meters, isWide);
    };
    const enforced = inMode('enforce');
    return {
      applied,
      enforced: enforced.length === 0 ? undefined : countedLimits(enforced),
      // Each is counted alone: a denial by one must not keep another from counting.
      shadows: inMode('shadow').map((policy) => countedLimits([policy])),
    };
  }
}

const NO_POLICIES: readonly Policy[] = [];
const NO_DECISIONS: readonly Decision[] = [];
const NO_DESCRIPTORS: readonly LimitDescriptor[] = [];
/** Which limit has the fewest units left is of no interest. */
const WITHIN_LIMITS: Decision = {
  ...{ verdict: 'allow', reason: 'within_limits', mode: 'enforced', policy: 'none' },
  ...{ binding: undefined, limits: [] },
};

function uncounted(decision: Decision, client: ClientEntry, applied: readonly Policy[]): Decided {
  return { client, decision, wouldDeny: NO_DECISIONS, applied, counted: NO_DESCRIPTORS };
}

function counted({ applied, enforced, shadows }: Plan, numbers: readonly number[], nowMs: number) {
  const denial = enforced?.take(numbers, nowMs);
  const allowed = enforced === undefined ? notEnforced(applied[0] as Policy) : WITHIN_LIMITS;
  const decision = denial ?? allowed;
  const descriptors = enforced?.descriptors ?? NO_DESCRIPTORS;
  // Policies in shadow mode count only requests that are allowed.
  if (denial !== undefined || shadows.length === 0) {
    return { decision, wouldDeny: NO_DECISIONS, counted: descriptors };
  }
  const denials = shadows.map((shadow) => shadow.take(numbers, nowMs));
  return {
    decision,
    wouldDeny: denials.filter((each) => each !== undefined),
    counted: [...descriptors, ...shadows.flatMap((shadow) => shadow.descriptors)],
  };
}
