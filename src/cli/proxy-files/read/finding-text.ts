/** What the catalog says of each finding. */

/** An error breaks the limits or the site; `fine` says what was examined. */
export type Severity = 'error' | 'warning' | 'info' | 'fine';

/** What a finding is about. Errors of the configuration have another exit code than those of running programs. */
export type Part = 'configuration' | 'running';

export interface FindingText {
  readonly severity: Severity;
  readonly part: Part;
  readonly meaning: string;
  /** What to do. Empty if nothing is to do. */
  readonly remedy: string;
}

export const of =
  (severity: Severity, part: Part) =>
  (meaning: string, remedy: string): FindingText => ({ severity, part, meaning, remedy });
export const configError = of('error', 'configuration');
export const configWarning = of('warning', 'configuration');
export const runError = of('error', 'running');
export const runWarning = of('warning', 'running');

/** The remedy for parts of another policy file or another version of headgate. */
export const PRINT_AGAIN =
  "Print the proxy's file again as you made it, and reload the proxy: `headgate proxy-config NAME --policies FILE`, with `--include PLACE` for each part that your file includes.";
