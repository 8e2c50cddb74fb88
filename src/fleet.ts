/** Several workers as one gateway: what app.ts composes runs in each of them, and operators are answered here. */
import type { AddressInfo } from 'node:net';
import type { App } from './app.ts';
import type { Environment } from './config/environment.ts';
import { createOpsServer } from './server/ops-server.ts';
import type { Telemetry } from './telemetry.ts';
import { FleetMetrics } from './workers/fleet-metrics.ts';
import { Supervisor } from './workers/supervisor.ts';

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
    onLost: telemetry.workerLost,
    onDeparture: (last) => metrics.addDeparted(last?.metrics ?? []),
  });
  let ready = false;
  const opsServer = createOpsServer({
    contentType: telemetry.registry.contentType,
    async metrics() {
      const reports = await supervisor.reports();
      const own = await telemetry.registry.getMetricsAsJSON();
      return metrics.textOf([own, ...reports.map((report) => report.metrics)]);
    },
    async health() {
      const reports = await supervisor.reports();
      return { ready, degraded: reports.some(({ degraded }) => degraded) };
    },
  });

  return {
    async listen() {
      await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      const check = await supervisor.start();
      ready = true;
      return { check, ops: opsServer.server.address() as AddressInfo };
    },
    reload: () => supervisor.reload(),
    async restart() {
      try {
        await supervisor.replaceAll();
        telemetry.workersReplaced(environment.workers);
      } catch (reason) {
        telemetry.workersKept(reason);
      }
    },
    async drain(durationMs) {
      ready = false;
      await supervisor.stop(durationMs);
    },
    async close() {
      ready = false;
      await supervisor.stop(0);
      await opsServer.close();
    },
  };
}
