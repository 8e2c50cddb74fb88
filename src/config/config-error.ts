import { printable } from '../core/printable.ts';

/** Configuration that must not be used. Carries every mistake, each a line that names the place and the remedy. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code = 'HEADGATE_INVALID_CONFIG';
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    const shown = mistakes.map(printable);
    super(shown.join('\n'));
    this.mistakes = shown;
  }
}
