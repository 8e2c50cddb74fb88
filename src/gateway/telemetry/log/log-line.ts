/** What the catalogue says of one log line, and texts that several lines share. All texts are Markdown. */

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error' | 'fatal';
  /** It is absent if every line has another message. */
  readonly message?: string;
  /** What each field holds. The text says so if a line may lack the field. */
  readonly fields: Readonly<Record<string, string>>;
  readonly meaning?: string;
  readonly runbook?: string;
  /** The line is written at any `HEADGATE_LOG_LEVEL`. */
  readonly always?: true;
  readonly atMost?: string;
}

export type LogLines = Readonly<Record<string, LogLine>>;

/** All fields of a line. TypeScript rejects unknown fields only if the type has a known one, hence `event`. */
export type FieldsOf<Lines extends LogLines, Event extends keyof Lines> = Readonly<
  Record<keyof Lines[Event]['fields'], unknown>
> & { readonly event?: never };

/** Names or mistakes that one line lists. `headgate check` lists all mistakes. */
export const MOST_LISTED = 20;
/** Characters of a policy name that a client or a proxy sent. */
export const LONGEST_NAME = 64;

export const CAUSE = 'an error code, or the first words of the error; `unknown` if it has none';
export const DIALECT =
  'the proxy that sent the check: a value of the label `dialect` in [metrics](metrics.md#labels)';
export const DURATION = 'from the arrival of the check to its response, milliseconds';
export const ERROR = 'the error: `type`, `message`, `stack`';
export const KEEP_FOR_REPORT = 'A fault in headgate: keep the line for a bug report.';
export const RUN_CHECK = 'run `headgate check --redis`';

export const ONE_A_SECOND = 'one a second for each client, policy and reason';
export const ONE_A_MINUTE = 'one a minute';
