/** The worker's side of its link to the supervisor. */
import type { Socket } from 'node:net';
import type {
  OperationOutcome,
  SupervisorMessage,
  WorkerMessage,
  WorkerReport,
} from './messages.ts';

/** Terminals and service managers send these to every process. Only the supervisor acts on them. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const;

export interface WorkerDuties {
  report(): Promise<WorkerReport>;
  reload(): void;
  operate(name: string, input: unknown): Promise<OperationOutcome>;
  /** Returns false if the worker is closing. */
  take(port: string, connection: Socket): boolean;
  drain(): void;
  /** Ends the process. */
  stop(drainMs: number): Promise<void>;
}

export function ignoreSignals(): void {
  for (const signal of SIGNALS) process.on(signal, () => {});
}

/** From now on, does what the supervisor asks for. */
export function followSupervisor(duties: WorkerDuties): void {
  const handle = messageHandler(duties, sendToSupervisor);
  process.on('message', (message: SupervisorMessage, connection?: Socket) => {
    void handle(message, connection);
  });
}

/** Resolves once the message is sent, or there is no supervisor any more. */
export function sendToSupervisor(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
    else resolve();
  });
}

export type MessageHandler = (message: SupervisorMessage, connection?: Socket) => Promise<void>;

export function messageHandler(
  duties: WorkerDuties,
  send: (message: WorkerMessage) => Promise<void>,
): MessageHandler {
  return async (message, connection) => {
    switch (message.type) {
      case 'report':
        await send({ type: 'report', report: await duties.report() });
        break;
      case 'ping':
        await send({ type: 'pong' });
        break;
      case 'reload':
        duties.reload();
        break;
      case 'operate': {
        const { id, name, input, beforeMs } = message;
        if (Date.now() > beforeMs) break;
        await send({ type: 'operated', id, outcome: await duties.operate(name, input) });
        break;
      }
      case 'connection': {
        const { id, port, beforeMs } = message;
        const isInTime = Date.now() <= beforeMs;
        // The client may have closed it on the way.
        const isTaken = connection === undefined || (isInTime && duties.take(port, connection));
        // Frees only this process's handle: another one keeps the connection.
        if (!isTaken) connection.destroy();
        await send({ type: 'connection', id, isTaken });
        break;
      }
      case 'drain':
        duties.drain();
        break;
      case 'stop':
        await duties.stop(message.drainMs);
        break;
    }
  };
}
