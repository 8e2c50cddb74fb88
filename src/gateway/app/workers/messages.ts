import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Health } from '../../server/ops/ops-server.ts';
import type { StoreAtStart } from '../backend.ts';

/** A worker that gets to the message too late must skip it: another worker has done it. */
interface Numbered {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly beforeMs: number;
}

export type SupervisorMessage =
  | { readonly type: 'report' }
  /** Answer with a pong at once: a worker that does not is not responding. */
  | { readonly type: 'ping' }
  | { readonly type: 'reload' }
  | (Numbered & { readonly type: 'operate'; readonly name: string; readonly input: unknown })
  /** A connection comes with this message, and the worker takes it or not. */
  | (Numbered & { readonly type: 'connection'; readonly port: string })
  | { readonly type: 'drain' }
  | { readonly type: 'stop'; readonly drainMs: number };

export type WorkerMessage =
  | { readonly type: 'ready'; readonly store: StoreAtStart }
  | { readonly type: 'connection'; readonly id: number; readonly isTaken: boolean }
  | { readonly type: 'pong' }
  | { readonly type: 'operated'; readonly id: number; readonly outcome: OperationOutcome }
  | { readonly type: 'report'; readonly report: WorkerReport };

export interface WorkerReport extends Omit<Health, 'ready' | 'unresponsiveWorkers'> {
  readonly metrics: MetricValues;
}

export type MetricValues = MetricObjectWithValues<MetricValue<string>>[];

export type OperationOutcome =
  | { readonly result: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } };

export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
  readonly code = 'HEADGATE_WORKER_FAILED';
  readonly exitCode: number;

  constructor(exitCode: number, how = `exit code ${exitCode}`) {
    super(`a worker ended before it answered: ${how}`);
    this.exitCode = exitCode;
  }
}
