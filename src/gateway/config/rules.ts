/** Scripts and annotations use the ids of rules, so a released id never changes. `docs/check.md` lists them. */
import { POLICY_RULES } from './policy-rules.ts';
import { RATELIMIT_RULES } from './ratelimit-rules.ts';
import type { RuleText } from './rule-text.ts';

export type Rule = keyof typeof POLICY_RULES | keyof typeof RATELIMIT_RULES;

export const RULES: Readonly<Record<Rule, RuleText>> = { ...POLICY_RULES, ...RATELIMIT_RULES };
