/** The worker's side of its link to the supervisor. */
import type { Socket } from 'node:net';
import { OperationError } from '../../operations/operation-error.ts';
import type { OperationName } from '../../operations/operation-table.ts';
import type { PortName } from '../../server/proxy-ports.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { PortlessGateway } from '../portless-gateway.ts';
import type {
  OperationOutcome,
  SupervisorMessage,
  WorkerMessage,
  WorkerReport,
} from './messages.ts';

/** Terminals and service managers send these to every process. Only the supervisor acts on them. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const;

type Duties = ReturnType<typeof workerDuties>;

export function ignoreSignals(): void {
  for (const signal of SIGNALS) process.on(signal, () => {});
}

export function followSupervisor(duties: Duties): void {
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

export function messageHandler(
  duties: Duties,
  send: (message: WorkerMessage) => Promise<void>,
): (message: SupervisorMessage, connection?: Socket) => Promise<void> {
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

interface WorkerDutiesOptions {
  readonly gateway: PortlessGateway;
  readonly telemetry: Pick<Telemetry, 'registry' | 'operators'>;
  readonly reload: () => Promise<void>;
  readonly send: (message: WorkerMessage) => Promise<void>;
  readonly end: () => void;
}

export function workerDuties(options: WorkerDutiesOptions) {
  const { gateway, telemetry, send } = options;
  const report = async (): Promise<WorkerReport> => ({
    metrics: await telemetry.registry.getMetricsAsJSON(),
    degraded: gateway.isDegraded(),
    unseenHeaders: gateway.unseenHeaders(),
  });
  return {
    report,
    reload: () => void options.reload(),
    operate: (name: string, input: unknown) =>
      outcomeOf(gateway.operate(name as OperationName, input), telemetry.operators),
    /** Returns false if the worker is closing. */
    take: (port: string, connection: Socket) => gateway.take(port as PortName, connection),
    drain: () => void gateway.drain(0),
    async stop(drainMs: number) {
      await gateway.drain(drainMs);
      await send({ type: 'report', report: await report() });
      options.end();
    },
  };
}

/** Errors do not cross process borders, so the outcome has the code and the message. */
async function outcomeOf(
  operation: Promise<unknown>,
  events: Pick<Telemetry['operators'], 'operationFailed'>,
): Promise<OperationOutcome> {
  try {
    return { result: await operation };
  } catch (error) {
    if (error instanceof OperationError) {
      return { failure: { code: error.code, message: error.message } };
    }
    events.operationFailed(error);
    return { failure: { code: 'internal_error', message: 'a fault in headgate: see its log' } };
  }
}
