/** Files that must not be used. */
import { ConfigError } from './config-error.ts';
import { type Finding, lineOf } from './diagnostic.ts';

export class FileError extends ConfigError {
  /** The mistakes, one by one. */
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    super(findings.map(lineOf));
    this.findings = findings;
  }
}
