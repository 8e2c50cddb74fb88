/** How the rules for a gateway failure become conditions of a proxy. */
import type { FailureRule } from './gateway-failure.ts';

/** How a proxy writes conditions. Lists are not empty. */
export interface Conditions {
  matches(rule: FailureRule): string;
  not(condition: string): string;
  and(conditions: readonly string[]): string;
  or(conditions: readonly string[]): string;
}

/** The first rule that matches decides. A request that no rule matches does not pass. Undefined: none passes. */
export function passesExpression(
  rules: readonly FailureRule[],
  { matches, not, and, or }: Conditions,
): string | undefined {
  return alike(rules).reduceRight<string | undefined>((rest, { refuses, rules: group }) => {
    const any = group.map((rule) => matches(rule));
    if (!refuses) return or(rest === undefined ? any : [...any, rest]);
    return rest === undefined ? undefined : and([not(or(any)), rest]);
  }, undefined);
}

interface Group {
  readonly refuses: boolean;
  readonly rules: FailureRule[];
}

/** Successive rules with the same result become one condition, because proxies limit the nesting of conditions. */
function alike(rules: readonly FailureRule[]): Group[] {
  const groups: Group[] = [];
  for (const rule of rules) {
    const last = groups.at(-1);
    if (last?.refuses === rule.refuses) last.rules.push(rule);
    else groups.push({ refuses: rule.refuses, rules: [rule] });
  }
  return groups;
}

export function joined(conditions: readonly string[], operator: '&&' | '||'): string {
  return conditions.length === 1 ? String(conditions[0]) : `(${conditions.join(` ${operator} `)})`;
}

/** Without spaces, so that part of a host with spaces cannot match as a target. */
const QUERY = '([?][^ ]*)?';
const ANY = '[^ ]*';

/** The regular expression of a rule, with anchors. `origin`: a pattern that can precede the path. */
export function keyPattern({ method, host, path }: FailureRule, origin = ''): string {
  return `^${method ?? ANY} ${host ?? ANY} ${origin}${path ?? '[^?]*'}${QUERY}$`;
}

export function targetPattern(path: string): string {
  return `${path}${QUERY}`;
}
