/** Ctrl+C ends the work early instead of the process, so that what is known can be printed. A second one ends the process. */
const INTERRUPTED = 130;

export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

export function interruptible(): Interrupt {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    controller.abort();
  };
  process.on('SIGINT', stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', stop);
    },
  };
}
