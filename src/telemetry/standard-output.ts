/** Standard output as the place of the log. It may be a file, a terminal, a pipe or a socket. */
import { LogOutput, type LogOutputOptions } from './log-output.ts';

const STANDARD_OUTPUT = 1;

/** Node has it for terminals, pipes and sockets. Files need none. */
interface Unblockable {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void };
}

export function standardOutput(options: Pick<LogOutputOptions, 'onLost' | 'report'>): LogOutput {
  const { _handle: handle } = process.stdout as Unblockable;
  const output = new LogOutput({
    ...options,
    fd: STANDARD_OUTPUT,
    unblock: () => handle?.setBlocking?.(false),
  });
  // Without a handler, a log that reaches the limit of a file's size (ulimit -f) ends the process.
  process.on('SIGXFSZ', () => {});
  process.on('exit', () => output.flushAtExit());
  return output;
}
