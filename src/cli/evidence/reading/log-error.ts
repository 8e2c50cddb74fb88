/** The logs cannot be read. Each problem names the log and says what to do. */
import { printable } from '../../../gateway/core/printable.ts';
import { CommandFailed } from '../../output/command-failed.ts';
import { EXIT_FAULT } from '../../output/exit-codes.ts';

export class LogError extends CommandFailed {
  override readonly name = 'LogError';
  readonly code = 'HEADGATE_UNREADABLE_LOG';

  constructor(problems: readonly string[]) {
    super(EXIT_FAULT, problems.map(printable));
  }
}
