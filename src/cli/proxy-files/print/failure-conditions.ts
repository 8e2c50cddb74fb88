import type { FailureRule, FailureRules } from './gateway-failure.ts';

/** Without spaces, so that part of a host with spaces cannot match as a target. */
const QUERY = '([?][^ ]*)?';
const ANY = '[^ ]*';

/** How a proxy writes conditions. Lists are not empty. */
export interface Conditions {
  matches(rule: FailureRule): string;
  not(condition: string): string;
  and(conditions: readonly string[]): string;
  or(conditions: readonly string[]): string;
}

/** The first rule that matches decides, and the last one lets requests pass. A request that no rule matches is refused. */
export function passesExpression(
  rules: readonly FailureRule[],
  { matches, not, and, or }: Conditions,
): string {
  return alike(rules).reduceRight((rest, { refuses, rules: group }) => {
    const any = group.map((rule) => matches(rule));
    if (refuses) return and([not(or(any)), rest]);
    return or(rest === '' ? any : [...any, rest]);
  }, '');
}

/** Successive rules with the same result become one condition, because proxies limit the nesting of conditions. */
function alike(rules: readonly FailureRule[]) {
  const groups: { readonly refuses: boolean; readonly rules: FailureRule[] }[] = [];
  for (const rule of rules) {
    const last = groups.at(-1);
    if (last?.refuses === rule.refuses) last.rules.push(rule);
    else groups.push({ refuses: rule.refuses, rules: [rule] });
  }
  return groups;
}

function joined(conditions: readonly string[], operator: '&&' | '||'): string {
  return conditions.length === 1 ? String(conditions[0]) : `(${conditions.join(` ${operator} `)})`;
}

type PartNames = Readonly<Record<'method' | 'host' | 'path', string>>;
type Matching = (name: string, pattern: string) => string;

export function conditionsOf(
  { method, host, path }: FailureRule,
  names: PartNames,
  matching: Matching,
): string[] {
  return [
    ...(method === undefined ? [] : [matching(names.method, method)]),
    ...(host === undefined ? [] : [matching(names.host, host)]),
    ...(path === undefined ? [] : [matching(names.path, `${path}${QUERY}`)]),
  ];
}

/** Writes the condition of a refusal with `!`, `&&` and `||`. `any` is true for every request. */
export function refusedExpression(
  { method, rules }: FailureRules,
  { names, matching, any }: { names: PartNames; matching: Matching; any: string },
): string {
  const conditions: Conditions = {
    matches(rule) {
      const all = conditionsOf(rule, names, matching);
      return all.length === 0 ? any : `(${all.join(' && ')})`;
    },
    not: (condition) => `!${condition}`,
    and: (each) => joined(each, '&&'),
    or: (each) => joined(each, '||'),
  };
  const refused = conditions.not(passesExpression(rules, conditions));
  return method === undefined ? refused : `${matching(names.method, method)} && ${refused}`;
}

/** The expression is for `GET host /path`. The pattern `origin` can precede the path. */
export function keyPattern({ method, host, path }: FailureRule, origin = ''): string {
  return `^${method ?? ANY} ${host ?? ANY} ${origin}${path ?? '[^?]*'}${QUERY}$`;
}
