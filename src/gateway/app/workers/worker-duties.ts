/** What a worker does when its supervisor asks for it. */
import { OperationError } from '../../operations/operation-error.ts';
import type { OperationName } from '../../operations/operations.ts';
import type { PortName } from '../../server/proxy-ports.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { PortlessGateway } from '../portless-gateway.ts';
import type { OperationOutcome, WorkerMessage, WorkerReport } from './messages.ts';
import type { WorkerDuties } from './supervisor-messages.ts';

export interface WorkerDutiesOptions {
  readonly gateway: PortlessGateway;
  readonly telemetry: Pick<Telemetry, 'registry' | 'operators'>;
  readonly reload: () => Promise<void>;
  readonly send: (message: WorkerMessage) => Promise<void>;
  /** Ends the process. */
  readonly end: () => void;
}

export function workerDuties(options: WorkerDutiesOptions): WorkerDuties {
  const { gateway, telemetry, send } = options;
  const report = async (): Promise<WorkerReport> => ({
    metrics: await telemetry.registry.getMetricsAsJSON(),
    degraded: gateway.isDegraded(),
    unseenHeaders: gateway.unseenHeaders(),
  });
  return {
    report,
    reload: () => void options.reload(),
    operate: (name, input) =>
      outcomeOf(gateway.operate(name as OperationName, input), telemetry.operators),
    take: (port, connection) => gateway.take(port as PortName, connection),
    drain: () => void gateway.drain(0),
    async stop(drainMs) {
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
