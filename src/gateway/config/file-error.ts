/** The error for a file that must not be used. */
import { ConfigError } from './config-error.ts';
import { type Diagnostic, lineOf } from './diagnostic.ts';

export class FileError extends ConfigError {
  /** One for each mistake. */
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(lineOf));
    this.diagnostics = diagnostics;
  }
}
