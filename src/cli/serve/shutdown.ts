import closeWithGrace from 'close-with-grace';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { catchFaultsOfConnections } from '../../gateway/server/connection-guard.ts';
import type { Telemetry } from '../../gateway/telemetry/telemetry.ts';

export interface Closable {
  /** Keeps answering for this many milliseconds, so that proxies can notice. */
  drain(durationMs: number): Promise<void>;
  close(): Promise<void>;
}

/** After the drain and the store timeout, the process ends anyway. */
const END_WITHIN_MS = 6_000;
const WORKER_ENDS_WITHIN_MS = 3_000;
const OTHER_SIGNALS = ['SIGHUP', 'SIGUSR2'] as const;
/** Node makes an uncaught exception of it. */
const REJECTION = 'unhandledRejection' as const;

/** SIGTERM drains first, because proxies may not know yet. Ctrl+C and a fault close at once, as does a second signal. */
export function endWithGrace(app: Closable, environment: Environment, telemetry: Telemetry) {
  const { drainMs, storeTimeoutMs } = environment;
  catchFaultsOfConnections();
  const delay = drainMs + storeTimeoutMs + END_WITHIN_MS;
  return closeWithGrace(
    { ...optionsFor(telemetry), delay, skip: [...OTHER_SIGNALS, REJECTION] },
    async ({ err, signal }) => {
      if (err) telemetry.lifecycle.crashed(err);
      else telemetry.lifecycle.stopping(signal);
      if (signal === 'SIGTERM') await app.drain(drainMs);
      await app.close();
    },
  );
}

/** For a worker, which ignores signals. The `close` of the result ends the process. */
export function endOnFault(
  app: Pick<Closable, 'close'>,
  { storeTimeoutMs }: Environment,
  telemetry: Telemetry,
) {
  catchFaultsOfConnections();
  const skip = [...OTHER_SIGNALS, REJECTION, 'SIGINT' as const, 'SIGTERM' as const];
  return closeWithGrace(
    { ...optionsFor(telemetry), delay: storeTimeoutMs + WORKER_ENDS_WITHIN_MS, skip },
    async ({ err }) => {
      if (err) telemetry.lifecycle.crashed(err);
      await app.close();
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
