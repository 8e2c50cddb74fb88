/** Scripts and annotations use the ids of rules, so a released id never changes. `docs/check.md` lists them. */
import { ERROR_RULES } from './error-rules.ts';
import { NOTE_RULES } from './note-rules.ts';
import { WARNING_RULES } from './warning-rules.ts';

/** Only errors keep a file from being loaded. */
export type Severity = 'error' | 'warning' | 'info';

export interface RuleText {
  readonly severity: Severity;
  readonly meaning: string;
  readonly remedy: string;
}

export type Rule = keyof typeof ERROR_RULES | keyof typeof WARNING_RULES | keyof typeof NOTE_RULES;

export const RULES = Object.fromEntries([
  ...ofSeverity('error', ERROR_RULES),
  ...ofSeverity('warning', WARNING_RULES),
  ...ofSeverity('info', NOTE_RULES),
]) as Readonly<Record<Rule, RuleText>>;

type RuleTexts = Readonly<Record<string, Omit<RuleText, 'severity'>>>;

function ofSeverity(severity: Severity, rules: RuleTexts): [string, RuleText][] {
  return Object.entries(rules).map(([rule, text]) => [rule, { severity, ...text }]);
}

export function severityOf(rule: Rule): Severity {
  return RULES[rule].severity;
}
