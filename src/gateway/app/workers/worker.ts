/** The worker's side of its link to the supervisor. */
import type { Socket } from 'node:net';
import { OperationError } from '../../operations/operation-error.ts';
import type { OperationName } from '../../operations/operation-table.ts';
import type { PortName } from '../../server/proxy-ports.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { PortlessGateway } from '../portless-gateway.ts';
import type { OperationOutcome, SupervisorMessage, WorkerMessage } from './messages.ts';

/** Terminals and service managers send these to every process. Only the supervisor acts on them. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGUSR2'] as const;

interface WorkerOptions {
  readonly gateway: Pick<PortlessGateway, 'drain' | 'health' | 'operate' | 'take'>;
  readonly telemetry: Pick<Telemetry, 'registry' | 'operators'>;
  readonly reload: () => Promise<void>;
  readonly end: () => void;
}

export function ignoreSignals(): void {
  for (const signal of SIGNALS) process.on(signal, () => {});
}

export function followSupervisor(options: WorkerOptions): void {
  const handle = messageHandler(options, sendToSupervisor);
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
  { gateway, telemetry, reload, end }: WorkerOptions,
  send: (message: WorkerMessage) => Promise<void>,
): (message: SupervisorMessage, connection?: Socket) => Promise<void> {
  const sendReport = async () => {
    const metrics = await telemetry.registry.getMetricsAsJSON();
    await send({ type: 'report', report: { metrics, ...gateway.health() } });
  };
  return async (message, connection) => {
    switch (message.type) {
      case 'report':
        await sendReport();
        break;
      case 'ping':
        await send({ type: 'pong' });
        break;
      case 'reload':
        void reload();
        break;
      case 'operate': {
        const { id, name, input, beforeMs } = message;
        if (Date.now() > beforeMs) break;
        const operation = gateway.operate(name as OperationName, input);
        const outcome = await outcomeOf(operation, telemetry.operators);
        await send({ type: 'operated', id, outcome });
        break;
      }
      case 'connection': {
        const { id, port, beforeMs } = message;
        const isInTime = Date.now() <= beforeMs;
        // The client may have closed it on the way.
        const isTaken =
          connection === undefined || (isInTime && gateway.take(port as PortName, connection));
        // Frees only this process's handle: another one keeps the connection.
        if (!isTaken) connection.destroy();
        await send({ type: 'connection', id, isTaken });
        break;
      }
      case 'drain':
        void gateway.drain(0);
        break;
      case 'stop':
        await gateway.drain(message.drainMs);
        await sendReport();
        end();
        break;
    }
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
