/** Ctrl+C ends the work early instead of the process, so that what is known can be printed. A second one ends the process. */
import { EXIT_INTERRUPTED } from './exit-codes.ts';

export function interruptible() {
  const controller = new AbortController();
  const { signal } = controller;
  const stop = () => {
    if (signal.aborted) process.exit(EXIT_INTERRUPTED);
    controller.abort();
  };
  process.on('SIGINT', stop);
  return {
    signal,
    /** Call this when all is printed: after Ctrl+C it sets the exit code, and waits no longer for standard input. */
    end() {
      if (!signal.aborted) return;
      process.exitCode = EXIT_INTERRUPTED;
      process.stdin.destroy();
    },
    [Symbol.dispose]() {
      process.off('SIGINT', stop);
    },
  };
}
