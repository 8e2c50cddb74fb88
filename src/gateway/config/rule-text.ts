/** Only errors keep a file from being loaded. */
export type Severity = 'error' | 'warning' | 'info';

export interface RuleText {
  readonly severity: Severity;
  readonly meaning: string;
  readonly remedy: string;
}

const rule =
  (severity: Severity) =>
  (meaning: string, remedy: string): RuleText => ({ severity, meaning, remedy });
export const error = rule('error');
export const warning = rule('warning');
export const note = rule('info');
