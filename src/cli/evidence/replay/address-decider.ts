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
import type { Access } from '../../../gateway/core/identity/access-lists.ts';
import { modeOf } from '../../../gateway/core/overrides.ts';
import type { Policy, PolicyMode } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import type { LogClient } from './client-address.ts';
import type { ClientBook } from './client-book.ts';
import { CountedLimits, type Meters } from './counted-limits.ts';
import type { Asked, Decided, EntryDecider, EntryDeciderOptions } from './entry-decider.ts';
import { compileListedAccess } from './listed-access.ts';
import { MatchedPolicies } from './matched-policies.ts';

interface Plan {
  readonly applied: readonly Policy[];
  /** Undefined if no policy is enforced. */
  readonly enforced: CountedLimits | undefined;
  readonly shadows: readonly CountedLimits[];
}

/** What only IPv6 addresses and files with access lists have. */
interface More {
  /** The numbers of the wider networks, narrowest first. */
  readonly networks: readonly number[];
  readonly accessAt: ((nowMs: number) => Access | undefined) | undefined;
}

type Plans = Readonly<Record<'narrow' | 'wide', Plan>>;

export class AddressDecider implements EntryDecider {
  readonly #options: EntryDeciderOptions;
  readonly #book: ClientBook;
  readonly #plans: MatchedPolicies<Plans>;
  readonly #accessOf: ReturnType<typeof compileListedAccess>;
  readonly #meters = new Map<string, Meters>();

  constructor(options: EntryDeciderOptions) {
    const { policies, modes, book } = options;
    this.#options = options;
    this.#book = book;
    this.#plans = new MatchedPolicies(policies, modes, (applied) => ({
      narrow: this.#planOf(applied, false),
      wide: this.#planOf(applied, true),
    }));
    this.#accessOf = compileListedAccess(policies.naming);
  }

  ask(entry: LogEntry, found: LogClient): Asked {
    const client = this.#book.numberOf(found.name);
    const { narrow, wide } = this.#plans.of(entry);
    if (found.wider.length === 0 && this.#accessOf === undefined) {
      return new Request(narrow, client, NOTHING_MORE);
    }
    const networks = found.wider.map((network) => this.#book.networkNumber(network, client));
    const plan = networks.length === 0 ? narrow : wide;
    return new Request(plan, client, { networks, accessAt: this.#accessOf?.(found) });
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

/** There may be a million that wait, so it is small. */
class Request implements Asked {
  readonly #plan: Plan;
  readonly #client: number;
  readonly #more: More;

  constructor(plan: Plan, client: number, more: More) {
    this.#plan = plan;
    this.#client = client;
    this.#more = more;
  }

  decide(nowMs: number): Decided {
    const { applied, enforced, shadows } = this.#plan;
    const client = this.#client;
    const { networks, accessAt } = this.#more;
    const access = accessAt?.(nowMs);
    if (access === 'blocked') return uncounted(BLOCKED, client, NONE);
    if (applied.length === 0) return uncounted(MALFORMED_PATH, client, applied);
    if (access === 'exempt') return uncounted(EXEMPT, client, applied);
    const denial = enforced?.take(client, networks, nowMs);
    const allowed = enforced === undefined ? notEnforced(applied[0] as Policy) : WITHIN_LIMITS;
    const decision = denial ?? allowed;
    const counted = enforced?.descriptors ?? NONE;
    // Policies in shadow mode count only requests that are allowed.
    if (denial !== undefined || shadows.length === 0) {
      return { client, decision, wouldDeny: NONE, applied, counted };
    }
    const denials = shadows.map((shadow) => shadow.take(client, networks, nowMs));
    return {
      ...{ client, decision, wouldDeny: denials.filter((each) => each !== undefined), applied },
      counted: [...counted, ...shadows.flatMap((shadow) => shadow.descriptors)],
    };
  }
}

const NONE: readonly never[] = [];
const NOTHING_MORE: More = { networks: NONE, accessAt: undefined };
/** Which limit has the fewest units left is of no interest. */
const WITHIN_LIMITS: Decision = {
  ...{ verdict: 'allow', reason: 'within_limits', mode: 'enforced', policy: 'none' },
  ...{ binding: undefined, limits: [] },
};

function uncounted(decision: Decision, client: number, applied: readonly Policy[]): Decided {
  return { client, decision, wouldDeny: NONE, applied, counted: NONE };
}
