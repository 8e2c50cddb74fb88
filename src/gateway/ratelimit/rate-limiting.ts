/** Answers calls of Envoy's rate limit filter: finds the rules, counts, and says what each descriptor has left. */
import type { LocalLimiter } from '../core/counting/local-limiter.ts';
import type { QuotaStore } from '../core/counting/store.ts';
import type { SaltSource } from '../core/identity/salts.ts';
import type { Overrides } from '../core/overrides.ts';
import { type AnswerTerms, createAnswering } from './answering.ts';
import { type RateLimitCall, RefusedCall } from './call.ts';
import { countShares } from './counting/count.ts';
import { type CountedRules, type CountingTerms, countRules } from './counting/counted-rule.ts';
import { overrideRules } from './counting/override-rules.ts';
import { planCall } from './counting/plan.ts';
import type { AnswerEvents, AnsweredCall } from './events.ts';
import { CompiledRules } from './rules/compiled-rules.ts';

export interface RateLimitingOptions {
  readonly store: Pick<QuotaStore, 'take'>;
  /** Counts for rules with `on_store_failure: local` while the store fails. */
  readonly local: LocalLimiter;
  readonly salts: SaltSource;
  readonly overrides: { readonly current: Overrides };
  readonly counting: CountingTerms;
  /** Whether calls pass until a configuration was loaded. Otherwise they fail. */
  readonly passesBeforeLimits: boolean;
  readonly terms: AnswerTerms;
  readonly events: AnswerEvents;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface RateLimiting {
  /** Undefined until a configuration was loaded. */
  readonly current: CountedRules | undefined;
  load(rules: CompiledRules): void;
  /** Throws or rejects with a RefusedCall. */
  answer(call: RateLimitCall): AnsweredCall | Promise<AnsweredCall>;
}

/** Every domain is unknown. */
const NO_RULES = new CompiledRules([], new Map());

export function createRateLimiting(options: RateLimitingOptions): RateLimiting {
  const { salts, overrides, counting, now } = options;
  const initial = options.passesBeforeLimits ? countRules(NO_RULES, counting) : undefined;
  const overrideRule = overrideRules(counting);
  const conclude = createAnswering(options.terms, options.events);
  let current: CountedRules | undefined;

  return {
    get current() {
      return current;
    },
    load(rules) {
      current = countRules(rules, counting);
    },
    answer(call) {
      const rules = current ?? initial;
      if (rules === undefined) {
        throw new RefusedCall('unavailable', 'No rate limit configuration is loaded yet.');
      }
      const nowMs = now();
      const planned = planCall(call, {
        rules,
        overrides: overrides.current,
        overrideRule,
        salts: salts.at(nowMs, true),
        nowMs,
      });
      const counted = countShares(planned.shares, options);
      if (!(counted instanceof Promise)) return conclude(call, planned, counted);
      return counted.then((shares) => conclude(call, planned, shares));
    },
  };
}
