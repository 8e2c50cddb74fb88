/** The messages between the supervisor and its workers. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { UnseenHeader } from '../../core/header-watch.ts';
import type { StoreAtStart } from '../backend.ts';

export type SupervisorMessage =
  | { readonly type: 'report' }
  /** Answer with a pong at once: a worker that does not is not responding. */
  | { readonly type: 'ping' }
  | { readonly type: 'reload' }
  /** Run an operation of the ops API. */
  | OperateMessage
  /** A connection comes with this message, and the worker takes it or not. */
  | ConnectionMessage
  /** Close each connection with its next response. */
  | { readonly type: 'drain' }
  /** Drain for so long, then end. */
  | { readonly type: 'stop'; readonly drainMs: number };

export interface ConnectionMessage {
  readonly type: 'connection';
  readonly id: number;
  readonly port: string;
  /** A worker that gets to it later must not take it: another worker has it. Milliseconds since the epoch. */
  readonly beforeMs: number;
}

export interface OperateMessage {
  readonly type: 'operate';
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
  /** A worker that gets to it later must skip it: another worker has run it. Milliseconds since the epoch. */
  readonly beforeMs: number;
}

export type WorkerMessage =
  /** The worker can answer, and its store is in this state. */
  | { readonly type: 'ready'; readonly store: StoreAtStart }
  /** Whether the worker took the connection. */
  | { readonly type: 'connection'; readonly id: number; readonly isTaken: boolean }
  | { readonly type: 'pong' }
  | { readonly type: 'operated'; readonly id: number; readonly outcome: OperationOutcome }
  | { readonly type: 'report'; readonly report: WorkerReport };

/** The state of a worker. */
export interface WorkerReport {
  readonly metrics: MetricValues;
  readonly degraded: boolean;
  /** Headers that proxies may not pass on, as far as this worker knows. */
  readonly unseenHeaders: readonly UnseenHeader[];
}

export type MetricValues = MetricObjectWithValues<MetricValue<string>>[];

/** The result of an operation, or why it failed. */
export type OperationOutcome =
  | { readonly result: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } };
