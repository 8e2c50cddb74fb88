/** Several workers as one gateway: a portless gateway runs in each, and the supervisor answers operators. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AggregatorRegistry } from 'prom-client';
import type { UnseenHeader } from '../core/header-watch.ts';
import { OperationError, type OperationErrorCode } from '../operations/operation-error.ts';
import type { Operate } from '../operations/operations.ts';
import type { Health } from '../server/ops/ops-server.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Gateway } from './gateway.ts';
import { createOpsPort, openPorts, type PortsOptions } from './ports.ts';
import type { MetricValues } from './workers/messages.ts';
import { Supervisor } from './workers/supervisor.ts';

/** How long a worker may take to end, besides the drain and the store timeout. */
const END_WITHIN_MS = 4_000;

export interface WorkerGateway extends Gateway {
  reload(): void;
  restart(): Promise<void>;
}

export function createWorkerGateway(options: PortsOptions): WorkerGateway {
  const { environment, telemetry, resources } = options;
  const metrics = new WorkerMetrics();
  const supervisor = new Supervisor({
    workers: environment.workers,
    drainMs: environment.drainMs,
    endWithinMs: environment.storeTimeoutMs + END_WITHIN_MS,
    onLost: telemetry.workers.lost,
    onUnresponsive: telemetry.workers.unresponsive,
    onResponding: telemetry.workers.responding,
    onEnded: (lastReport) => metrics.addEnded(lastReport?.metrics ?? []),
  });
  const operate = operateThrough(supervisor);
  let ready = false;
  const openOps = createOpsPort(options, {
    operate,
    async metrics() {
      await supervisor.collectReports();
      const own = await telemetry.registry.getMetricsAsJSON();
      return metrics.textOf([own, ...supervisor.lastReports.map((report) => report.metrics)]);
    },
    health: () => healthOf(supervisor, ready),
  });
  resources.add(supervisor, (opened) => opened.stop());
  // Workers that did not stop in time must not outlive this process.
  process.once('exit', () => supervisor.kill());

  return {
    operate,
    unseenHeaders: () => unseenByWorkers(supervisor),
    async listen() {
      const ops = await openOps();
      const store = await supervisor.start();
      const ports = await openPorts(options, {
        take: (port, connection) => supervisor.dispatch(port, connection),
        pauseOnConnect: true,
        onClose() {
          ready = false;
          supervisor.drain();
        },
      });
      ready = true;
      return { ...ports, store, ops };
    },
    reload: () => supervisor.reload(),
    restart: replaceWorkers(supervisor, telemetry.workers, () => ready),
    async drain(durationMs) {
      ready = false;
      supervisor.drain();
      await sleep(durationMs);
    },
  };
}

function operateThrough(supervisor: Supervisor): Operate {
  return async (name, input) => {
    const outcome = await supervisor.operate(name, input);
    if (outcome === undefined) {
      throw new OperationError(
        'store_unavailable',
        'no worker answers: the change may or may not have been made; you can try it again',
      );
    }
    if ('result' in outcome) return outcome.result;
    const { code, message } = outcome.failure;
    throw new OperationError(code as OperationErrorCode, message);
  };
}

function healthOf(supervisor: Supervisor, ready: boolean): Health {
  // A probe cannot wait for the workers: it gets the reports that they sent for the probe before.
  void supervisor.collectReports();
  return {
    ready: ready && supervisor.isAnswering,
    degraded: supervisor.lastReports.some((report) => report.degraded),
    unseenHeaders: unseenByWorkers(supervisor),
    unsettledPolicies: [
      ...new Set(supervisor.lastReports.flatMap((report) => report.unsettledPolicies)),
    ],
    unresponsiveWorkers: supervisor.unresponsive,
  };
}

/** Each worker gets a part of the requests. A header that several workers report is listed once. */
function unseenByWorkers(supervisor: Supervisor): UnseenHeader[] {
  const all = supervisor.lastReports.flatMap((report) => report.unseenHeaders);
  return [...new Map(all.map((each) => [`${each.dialect} ${each.header}`, each])).values()];
}

function replaceWorkers(
  supervisor: Supervisor,
  events: Telemetry['workers'],
  isReady: () => boolean,
): () => Promise<void> {
  let isRunning = false;
  return async () => {
    // Workers that are starting need no replacement.
    if (!isReady() || isRunning) return;
    isRunning = true;
    try {
      if (await supervisor.replaceAll()) events.replaced(supervisor.size);
    } catch (reason) {
      events.kept(String(reason));
    } finally {
      isRunning = false;
    }
  };
}

/**
 * Adds up the metrics of several processes. What ended processes had counted stays in the sums: Prometheus would take a
 * counter that falls for a restart, and count its value again.
 */
export class WorkerMetrics {
  #ended: MetricValues = [];

  addEnded(metrics: MetricValues): void {
    const counted = metrics.filter(({ type }) => isCounted(String(type)));
    const sum = AggregatorRegistry.aggregate([this.#ended, counted]);
    this.#ended = sum.getMetricsAsArray() as unknown as MetricValues;
  }

  /** Returns the text format of Prometheus. It adds up synchronously, so that no process can end meanwhile and count twice. */
  textOf(metrics: readonly MetricValues[]): Promise<string> {
    return AggregatorRegistry.aggregate([this.#ended, ...metrics]).metrics();
  }
}

/** A gauge describes a running process, so it does not outlive it. */
function isCounted(type: string): boolean {
  return type === 'counter' || type === 'histogram';
}
