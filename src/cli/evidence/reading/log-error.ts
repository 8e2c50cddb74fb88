/** The error for logs that cannot be read. */
import { printable } from '../../../gateway/core/printable.ts';

export class LogError extends Error {
  override readonly name = 'LogError';
  readonly code = 'HEADGATE_UNREADABLE_LOG';
  /** One line for each problem. It names the log and says what to do. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const shown = problems.map(printable);
    super(shown.join('\n'));
    this.problems = shown;
  }
}
