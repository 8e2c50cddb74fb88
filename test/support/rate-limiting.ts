/** The core of the rate limit service, in memory and on a clock of the test. */

import type { LocalLimiter, QuotaStore } from '../../src/gateway/core/counting/store.ts';
import type { Pseudonyms } from '../../src/gateway/core/identity/partition.ts';
import { NO_OVERRIDES } from '../../src/gateway/core/overrides.ts';
import type { AnswerTerms } from '../../src/gateway/ratelimit/answering.ts';
import type { RateLimitAnswer, RateLimitCall } from '../../src/gateway/ratelimit/call.ts';
import type { CountingTerms } from '../../src/gateway/ratelimit/counting/counted-rule.ts';
import { createRateLimiting } from '../../src/gateway/ratelimit/rate-limiting.ts';
import { compileRules } from '../../src/gateway/ratelimit/rules/compile.ts';
import { readRuleFile } from '../../src/gateway/ratelimit/rules/rule-file.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import { SaltBooks } from '../../src/gateway/stores/salts/salt-sources.ts';

export interface LimitingOptions extends Partial<AnswerTerms>, Partial<CountingTerms> {
  readonly store?: Pick<QuotaStore, 'take'>;
  /** Counts while the store fails. */
  readonly local?: LocalLimiter;
}

export interface Limiting {
  readonly clock: { nowMs: number };
  /** Hits as metrics get them: `domain.key over 3`. */
  readonly counted: string[];
  /** The clients of denied calls. */
  readonly denied: Pseudonyms[];
  /** How often a limit in shadow mode, or the whole service in shadow mode, would have denied. */
  wouldDeny(): number;
  load(...rules: readonly string[]): void;
  /** Throws or rejects with a RefusedCall. */
  answer(call: RateLimitCall): Promise<RateLimitAnswer>;
}

/** Those of the product's default, and those of envoyproxy/ratelimit. */
export const WINDOWS = ['sliding', 'aligned'] as const;

const TERMS: AnswerTerms = {
  headers: undefined,
  hasBody: false,
  hasMetadata: false,
  isShadow: false,
  style: { reset: 'delta', retryAfterJitterSeconds: 0, body: 'json' },
};

/** Without rules, none are loaded. */
export function limitingWith(rules: string | undefined, options: LimitingOptions = {}): Limiting {
  const { windows = 'sliding', isQuota = false } = options;
  const clock = { nowMs: 0 };
  const now = () => clock.nowMs;
  const memory = new MemoryStore({ now, maxKeys: 1_000 });
  const counted: string[] = [];
  const denied: Pseudonyms[] = [];
  let denials = 0;
  const limiting = createRateLimiting({
    store: options.store ?? memory,
    local: options.local ?? memory,
    salts: new SaltBooks(),
    overrides: { current: NO_OVERRIDES },
    counting: { windows, isQuota },
    passesBeforeLimits: false,
    terms: { ...TERMS, ...options },
    events: {
      newId(_decision, { address }) {
        denied.push(address.daily);
        return 'id';
      },
      counted: (limit, outcome, hits) => counted.push(`${limit} ${outcome} ${hits}`),
      wouldDeny: () => denials++,
    },
    now,
  });
  const load = (...texts: readonly string[]) => {
    const files = texts.map((text, i) => readRuleFile(`rules-${i + 1}.yaml`, text));
    limiting.load(compileRules(files, { mergeDomains: false }));
  };
  if (rules !== undefined) load(rules);
  return {
    clock,
    counted,
    denied,
    load,
    wouldDeny: () => denials,
    answer: async (call) => (await limiting.answer(call, {})).answer,
  };
}

/** A descriptor as `key=value key=value`; values have no space. */
export function callOf(domain: string, descriptors: readonly string[], hits = 1): RateLimitCall {
  return {
    domain,
    hitsAddend: hits,
    descriptors: descriptors.map((text) => ({
      entries: text.split(' ').map((entry) => {
        const [key = '', value = ''] = entry.split('=');
        return { key, value };
      }),
      limit: undefined,
      hitsAddend: undefined,
      isNegativeHits: false,
    })),
  };
}
