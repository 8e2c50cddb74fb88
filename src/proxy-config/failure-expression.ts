/** For proxies without ordered rules: one expression that is true when a request passes. */
import type { FailureRule } from './gateway-failure.ts';

/** How a proxy writes conditions. */
export interface Conditions {
  matches(rule: FailureRule): string;
  not(condition: string): string;
  and(first: string, second: string): string;
  or(first: string, second: string): string;
}

/** The first rule that matches decides, and a request without one does not pass. */
export function passesExpression(
  rules: readonly FailureRule[],
  { matches, not, and, or }: Conditions,
): string | undefined {
  return rules.reduceRight<string | undefined>((rest, rule) => {
    if (rest === undefined) return rule.refuses ? undefined : matches(rule);
    return rule.refuses ? and(not(matches(rule)), rest) : or(matches(rule), rest);
  }, undefined);
}
