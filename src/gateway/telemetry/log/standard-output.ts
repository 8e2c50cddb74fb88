/** Standard output as the place of the log. It may be a file, a terminal, a pipe or a socket. */
import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
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
    fd: openOwn() ?? STANDARD_OUTPUT,
    unblock: () => handle?.setBlocking?.(false),
  });
  // Without a handler, a log that reaches the limit of a file's size (ulimit -f) ends the process.
  process.on('SIGXFSZ', () => {});
  process.on('exit', () => output.flushAtExit());
  return output;
}

/**
 * Opens a pipe or terminal once more. Writes to it fail where they would wait, and no other process can change that: Node
 * makes the standard output of this process wait again each time that it starts a worker.
 */
function openOwn(): number | undefined {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  if (!isatty(STANDARD_OUTPUT) && !fstatSync(STANDARD_OUTPUT).isFIFO()) return undefined;
  try {
    return openSync(`/proc/self/fd/${STANDARD_OUTPUT}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // Another user opened it, or this system has no such files.
    return undefined;
  }
}
