/** The worker's end: does what its supervisor orders, and nothing on a signal. */
import type { Socket } from 'node:net';
import type { News, Order, Outcome, Report } from './messages.ts';

/** Terminals and service managers send these to every process; what is to be done then is the supervisor's to say. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const;

export interface WorkerDuties {
  report(): Promise<Report>;
  reload(): void;
  operate(name: string, input: unknown): Promise<Outcome>;
  /** False if it is closing. */
  take(port: string, connection: Socket): boolean;
  drain(): void;
  /** Ends the process. */
  stop(drainMs: number): Promise<void>;
}

export function ignoreSignals(): void {
  for (const signal of SIGNALS) process.on(signal, () => {});
}

export function obey(duties: WorkerDuties): void {
  process.on('message', async (message: Order, connection?: Socket) => {
    if (message.order === 'connection') {
      // It may have been closed on its way.
      const isTaken = connection === undefined || duties.take(message.port, connection);
      // Of a connection that is left alone, this closes nothing but the worker's hold on it.
      if (!isTaken) connection.destroy();
      await tell({ news: 'connection', isTaken });
    }
    if (message.order === 'drain') duties.drain();
    if (message.order === 'reload') duties.reload();
    if (message.order === 'report') await tell({ news: 'report', report: await duties.report() });
    if (message.order === 'operate') {
      const { id, name, input, beforeMs } = message;
      if (Date.now() > beforeMs) return;
      await tell({ news: 'operated', id, outcome: await duties.operate(name, input) });
    }
    if (message.order === 'stop') {
      await duties.stop(message.drainMs);
    }
  });
}

/** Resolves once it is sent, or nobody is there to hear it. */
export function tell(news: News): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(news, undefined, undefined, () => resolve());
    else resolve();
  });
}
