import { printable } from '../core/printable.ts';
import { CHARGING_RULES } from './charging-rules.ts';
import { IDENTITY_RULES } from './identity-rules.ts';
import { POLICY_RULES } from './policy-rules.ts';
import { RATELIMIT_RULES } from './ratelimit-rules.ts';
import type { Severity as RuleSeverity, RuleText } from './rule-text.ts';

export type Rule =
  | keyof typeof POLICY_RULES
  | keyof typeof IDENTITY_RULES
  | keyof typeof CHARGING_RULES
  | keyof typeof RATELIMIT_RULES;

/** Scripts and annotations use the ids of rules, so a released id never changes. `docs/check.md` lists them. */
export const RULES: Readonly<Record<Rule, RuleText>> = {
  ...POLICY_RULES,
  ...IDENTITY_RULES,
  ...CHARGING_RULES,
  ...RATELIMIT_RULES,
};

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export type Path = readonly (string | number)[];

export interface Excerpt {
  /** A long line is cut around the place. */
  readonly text: string;
  /** Characters before the place. */
  readonly caret: number;
}

/** `fine` means that it was examined, and is as it should be. */
export type Severity = RuleSeverity | 'fine';

export interface Diagnostic {
  /** A stable id. `headgate check` has those of RULES; other commands have their own. */
  readonly rule: string;
  readonly severity: Severity;
  /** The name that is shown to people: of a file, or of the address or URL that was examined. */
  readonly file: string;
  /** Undefined if the diagnostic is about the whole file, or the file is missing. */
  readonly place: Place | undefined;
  /** `policies[2].limits[0]`; empty if the message names what it is about. */
  readonly path: string;
  readonly message: string;
  /** What to do. Empty if nothing is to do, or if the message says it. */
  readonly remedy: string;
  /** Undefined for the whole file, and for lines that may hold a secret. */
  readonly excerpt?: Excerpt | undefined;
}

/** A diagnostic about a value of a file, before its line and column are looked up. */
export interface DiagnosticDraft {
  readonly rule: Rule;
  readonly path: Path;
  readonly message: string;
  /** Characters before the place. Default: where the value of the path begins. */
  readonly offset?: number;
}

/** Adds the severity and the remedy of a rule of `headgate check`. */
export function diagnostic(
  parts: Omit<Diagnostic, 'severity' | 'remedy'> & { readonly rule: Rule },
): Diagnostic {
  const { severity, remedy } = RULES[parts.rule];
  return { ...parts, severity, remedy: severity === 'info' ? '' : remedy };
}

/** The form in errors and logs: `file:line:column: path: message`. */
export function lineOf({ severity, file, place, path, message }: Diagnostic): string {
  const where = place === undefined ? file : `${file}:${place.line}:${place.column}`;
  const level = severity === 'warning' ? 'warning' : '';
  return [where, path, level, message].filter((part) => part !== '').join(': ');
}

/** A longer name is no key of a policy file, and may be a secret in the wrong place. */
const MAX_SHOWN_LENGTH = 32;

export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else {
      const name = part.length > MAX_SHOWN_LENGTH ? '(a long name)' : part;
      text += text === '' ? name : `.${name}`;
    }
  }
  return text;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'HEADGATE_INVALID_CONFIG';
  /** One line for each mistake. It says where the mistake is and how to correct it. */
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    const shown = mistakes.map(printable);
    super(shown.join('\n'));
    this.mistakes = shown;
  }
}

export class FileError extends ConfigError {
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(lineOf));
    this.diagnostics = diagnostics;
  }
}
