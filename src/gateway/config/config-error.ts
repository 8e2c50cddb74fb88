/** The error for configuration that must not be used. */
import { printable } from '../core/printable.ts';

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
