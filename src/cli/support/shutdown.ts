/** How the process ends: on signals in order, by a second one at once, after a fault with exit code 1. */
import closeWithGrace from 'close-with-grace';
import type { Environment } from '../../config/settings/environment.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

export interface Closable {
  /** Goes on answering for so long, milliseconds, so that whoever asks can notice. */
  drain(durationMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Beyond the drain, and the deadline of what is under way then: whatever hangs is not waited for. */
const END_WITHIN_MS = 6_000;
/** A worker is given up by its supervisor before that. */
const WORKER_ENDS_WITHIN_MS = 3_000;
/** These ask for something else. */
const OTHER_SIGNALS = ['SIGHUP', 'SIGUSR2'] as const;

/** After a drain on SIGTERM, since proxies may not know yet; on Ctrl+C and after a fault at once. */
export function endWithGrace(app: Closable, environment: Environment, telemetry: Telemetry) {
  const { drainMs, storeTimeoutMs } = environment;
  const delay = drainMs + storeTimeoutMs + END_WITHIN_MS;
  return closeWithGrace(
    { ...optionsFor(telemetry), delay, skip: [...OTHER_SIGNALS] },
    async ({ err, signal }) => {
      if (err) telemetry.lifecycle.crashed(err);
      else telemetry.lifecycle.stopping(signal);
      if (signal === 'SIGTERM') await app.drain(drainMs);
      await app.close();
      telemetry.close();
    },
  );
}

/** For a process that is told otherwise when to end: by the `close` of what this returns. */
export function endOnFault(app: Closable, { storeTimeoutMs }: Environment, telemetry: Telemetry) {
  const skip = [...OTHER_SIGNALS, 'SIGINT' as const, 'SIGTERM' as const];
  return closeWithGrace(
    { ...optionsFor(telemetry), delay: storeTimeoutMs + WORKER_ENDS_WITHIN_MS, skip },
    async ({ err }) => {
      if (err) telemetry.lifecycle.crashed(err);
      await app.close();
      telemetry.close();
    },
  );
}

function optionsFor(telemetry: Telemetry) {
  return {
    logger: false,
    onSecondSignal: (signal) => telemetry.lifecycle.stoppedByForce(`a second signal, ${signal}`),
    onTimeout: (delayMs) => telemetry.lifecycle.stoppedByForce(`not done after ${delayMs} ms`),
  } satisfies closeWithGrace.Options;
}
