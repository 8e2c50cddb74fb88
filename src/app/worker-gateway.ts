/** Several workers as one gateway: what app.ts composes runs in each of them, and operators are answered here. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../config/settings/environment.ts';
import { OperationError, type OperationErrorCode } from '../operations/operation-error.ts';
import type { Operate } from '../operations/operations.ts';
import { createOpsServer } from '../server/ops-server.ts';
import { openProxyPorts, type ProxyPorts } from '../server/proxy-ports.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { type App, warnIfOpen } from './gateway.ts';
import { FleetMetrics } from './workers/metrics-of-workers.ts';
import { Supervisor } from './workers/supervisor.ts';

/** Beyond the drain, and the deadline of what is under way then. */
const END_WITHIN_MS = 4_000;

export interface Fleet extends App {
  /** Has every worker read its files again. */
  reload(): void;
  /** Replaces the workers one by one. */
  restart(): Promise<void>;
}

export function createFleet(environment: Environment, telemetry: Telemetry): Fleet {
  const metrics = new FleetMetrics();
  const supervisor = new Supervisor({
    workers: environment.workers,
    drainMs: environment.drainMs,
    endWithinMs: environment.storeTimeoutMs + END_WITHIN_MS,
    onLost: telemetry.workerLost,
    onDeparture: (last) => metrics.addDeparted(last?.metrics ?? []),
  });
  let ready = false;
  let ports: ProxyPorts | undefined;
  let isRestarting = false;
  const operate: Operate = async (name, input) => {
    const outcome = await supervisor.operate(name, input);
    if (outcome === undefined) {
      throw new OperationError(
        'store_unavailable',
        'no worker answers: a change may or may not have been made, and can be tried again',
      );
    }
    if ('result' in outcome) return outcome.result;
    const { code, message } = outcome.failure;
    throw new OperationError(code as OperationErrorCode, message);
  };
  /** Each worker sees a part of the requests: what any of them has doubts about is told once. */
  const unseenHeaders = () => {
    const all = supervisor.lastReports.flatMap((report) => report.unseenHeaders);
    return [...new Map(all.map((each) => [`${each.dialect} ${each.header}`, each])).values()];
  };
  const opsServer = createOpsServer({
    operate,
    adminToken: environment.adminToken,
    onRefused: telemetry.operatorRefused,
    onFault: telemetry.operationFailed,
    contentType: telemetry.registry.contentType,
    async metrics() {
      await supervisor.hear();
      const own = await telemetry.registry.getMetricsAsJSON();
      return metrics.textOf([own, ...supervisor.lastReports.map((report) => report.metrics)]);
    },
    health() {
      // Whoever probes has no second to wait: it hears what was heard for the probe before.
      void supervisor.hear();
      const degraded = supervisor.lastReports.some((report) => report.degraded);
      return { ready: ready && supervisor.isAnswering, degraded, unseenHeaders: unseenHeaders() };
    },
  });

  return {
    operate,
    unseenHeaders,
    async listen() {
      await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      const store = await supervisor.start();
      ports = await openProxyPorts(environment, { pauseOnConnect: true }, (port, connection) =>
        supervisor.dispatch(port, connection),
      );
      ready = true;
      warnIfOpen(ports, environment, telemetry);
      return { ...ports, store, ops: opsServer.server.address() as AddressInfo };
    },
    reload: () => supervisor.reload(),
    async restart() {
      // Those that are just starting need not be replaced.
      if (!ready || isRestarting) return;
      isRestarting = true;
      try {
        if (await supervisor.replaceAll()) telemetry.workersReplaced(environment.workers);
      } catch (reason) {
        telemetry.workersKept(String(reason));
      } finally {
        isRestarting = false;
      }
    },
    async drain(durationMs) {
      ready = false;
      supervisor.drain();
      await sleep(durationMs);
    },
    async close() {
      ready = false;
      supervisor.drain();
      await ports?.close();
      await supervisor.stop();
      await opsServer.close();
    },
  };
}
