import type { HeaderFields } from '../core/check-request.ts';
import { type CheckSpan, type CountingOptions, createCounting } from '../core/counting/counting.ts';
import type { SaltSource } from '../core/identity/salts.ts';
import type { Overrides } from '../core/overrides.ts';
import { type AnswerTerms, createAnswering } from './answering.ts';
import { type AnswerEvents, type AnsweredCall, type RateLimitCall, RefusedCall } from './call.ts';
import { type CountedGroup, createGroupCounting } from './counting/count.ts';
import {
  type CountedRules,
  type CountingTerms,
  countRules,
  overrideRules,
} from './counting/counted-rule.ts';
import { descriptorNames } from './counting/partitions.ts';
import { planCall } from './counting/plan.ts';
import { CompiledRules } from './rules/compiled-rules.ts';

export interface RateLimitingOptions extends CountingOptions {
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
  /** `headers` may hold a trace context. Throws a RefusedCall; rejects with a StoreError if Envoy decides without the store. */
  answer(
    call: RateLimitCall,
    headers: HeaderFields,
    span?: CheckSpan,
  ): AnsweredCall | Promise<AnsweredCall>;
}

const NO_RULES = new CompiledRules([], new Map());

export function createRateLimiting(options: RateLimitingOptions): RateLimiting {
  const { salts, overrides, counting, now } = options;
  const initial = options.passesBeforeLimits ? countRules(NO_RULES, counting) : undefined;
  const overrideRule = overrideRules(counting);
  const names = descriptorNames();
  const countGroups = createGroupCounting(createCounting(options));
  const answered = createAnswering(options.terms, options.events);
  let current: CountedRules | undefined;

  return {
    get current() {
      return current;
    },
    load(rules) {
      current = countRules(rules, counting);
    },
    answer(call, headers, span) {
      const rules = current ?? initial;
      if (rules === undefined) {
        throw new RefusedCall('unavailable', 'No rate limit configuration is loaded yet.');
      }
      const nowMs = now();
      const planned = planCall(call, {
        rules,
        overrides: overrides.current,
        overrideRule,
        names,
        salts: salts.at(nowMs, true),
        nowMs,
      });
      const conclude = (groups: readonly CountedGroup[]) =>
        answered({ call, headers, planned, groups });
      const counted = countGroups(planned.groups, span);
      return counted instanceof Promise ? counted.then(conclude) : conclude(counted);
    },
  };
}
