import { printable } from '../core/printable.ts';
import { type Diagnostic, lineOf } from './diagnostic.ts';

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
