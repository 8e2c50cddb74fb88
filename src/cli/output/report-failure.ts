/** Prints the error that ended a command, and chooses the exit code. */
import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { CommandFailed } from './command-failed.ts';
import { EXIT_FAULT, EXIT_INVALID_CONFIG, EXIT_USAGE } from './exit-codes.ts';
import { complain, linesIn } from './output.ts';

export function reportFailure(error: unknown): number {
  // Commander has printed its own message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof ConfigError) {
    const count = error.mistakes.length;
    complain(error.mistakes);
    complain(`headgate: ${count} mistake${count === 1 ? '' : 's'}, nothing was started`);
    return EXIT_INVALID_CONFIG;
  }
  if (error instanceof CommandFailed) {
    complain(error.lines.map((line) => `headgate: ${line}`));
    return error.exitCode;
  }
  complain(linesIn(inspect(error)));
  return EXIT_FAULT;
}
