/** Serving: a gateway in this process alone, or in several workers. */
import cluster from 'node:cluster';
import { createApp, createEngine, type PortName } from '../../app/gateway.ts';
import { reloadOnChange } from '../../app/policy-reload.ts';
import { createFleet } from '../../app/worker-gateway.ts';
import type { Outcome } from '../../app/workers/messages.ts';
import { ignoreSignals, obey, tell } from '../../app/workers/worker.ts';
import { ConfigError } from '../../config/config-error.ts';
import { openPolicySource, type PolicySource } from '../../config/policy-file/policy-source.ts';
import { type Environment, readEnvironment } from '../../config/settings/environment.ts';
import { VERSION } from '../../config/version.ts';
import { OperationError } from '../../operations/operation-error.ts';
import type { OperationName } from '../../operations/operations.ts';
import { createTelemetry, type Telemetry } from '../../telemetry/telemetry.ts';
import { banner } from './banner.ts';
import { say } from './output.ts';
import { type Closable, endOnFault, endWithGrace } from './shutdown.ts';

export interface ServeFlags {
  readonly policies?: string;
}

interface Configured {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
}

export async function serve(flags: ServeFlags): Promise<void> {
  try {
    await serveInRole(flags);
  } catch (error) {
    // What is said to the supervisor would keep this process alive.
    cluster.worker?.disconnect();
    throw error;
  }
}

async function serveInRole(flags: ServeFlags): Promise<void> {
  const environment = { ...readEnvironment(process.env), ...flags };
  const { logLevel: level, worker } = environment;
  if (worker !== undefined && !process.connected) {
    throw new ConfigError(['HEADGATE_WORKER: is set by supervisors for their workers, unset it']);
  }
  const telemetry = createTelemetry({ level, version: VERSION, worker, now: Date.now });
  // In a supervisor, too: what is wrong stops it before any worker starts.
  const configured = { environment, telemetry, policies: openPolicySource(environment) };
  if (environment.worker !== undefined) await serveAsWorker(configured);
  else if (environment.workers > 1) await serveByWorkers(configured);
  else await serveAlone(configured);
}

async function serveAlone({ environment, policies, telemetry }: Configured): Promise<void> {
  telemetry.policiesInForce(policies.digest);
  for (const note of policies.notes) telemetry.policyNote(note);
  const app = createApp({ environment, policies, telemetry, now: Date.now });
  // Before it listens: the first process of a container ignores every signal that it does not handle, and any other
  // would end by some of them.
  const ending = endWithGrace(app, environment, telemetry);
  const reload = reloadOnChange(policies, telemetry);
  process.on('SIGHUP', () => void reload());
  // There are no workers to replace, and it is no reason to end.
  process.on('SIGUSR2', () => {});
  const listening = await unlessItFails(app.listen(), app, ending);
  say(banner(environment, policies, listening));
}

async function serveByWorkers({ environment, policies, telemetry }: Configured): Promise<void> {
  for (const note of policies.notes) telemetry.policyNote(note);
  const fleet = createFleet(environment, telemetry);
  const ending = endWithGrace(fleet, environment, telemetry);
  process.on('SIGHUP', () => fleet.reload());
  process.on('SIGUSR2', () => void fleet.restart());
  const listening = await unlessItFails(fleet.listen(), fleet, ending);
  say(banner(environment, policies, listening));
}

async function serveAsWorker({ environment, policies, telemetry }: Configured): Promise<void> {
  ignoreSignals();
  telemetry.policiesInForce(policies.digest);
  const engine = createEngine({ environment, policies, telemetry, now: Date.now });
  const ending = endOnFault(engine, environment, telemetry);
  const reload = reloadOnChange(policies, telemetry);
  const report = async () => ({
    metrics: await telemetry.registry.getMetricsAsJSON(),
    degraded: telemetry.isDegraded(),
    unseenHeaders: engine.unseenHeaders(),
  });
  obey({
    report,
    reload: () => void reload(),
    operate: (name, input) => outcomeOf(engine.operate(name as OperationName, input), telemetry),
    take: (port, connection) => engine.take(port as PortName, connection),
    drain: () => void engine.drain(0),
    async stop(drainMs) {
      await engine.drain(drainMs);
      await tell({ news: 'report', report: await report() });
      ending.close();
    },
  });
  const store = await unlessItFails(engine.start(), engine, ending);
  await tell({ news: 'ready', store });
}

/** What a supervisor can be told of it. */
async function outcomeOf(operation: Promise<unknown>, telemetry: Telemetry): Promise<Outcome> {
  try {
    return { result: await operation };
  } catch (error) {
    if (error instanceof OperationError) {
      return { failure: { code: error.code, message: error.message } };
    }
    telemetry.operationFailed(error);
    return { failure: { code: 'internal_error', message: 'a fault of headgate: see its log' } };
  }
}

/** Resolves as the beginning does. If that fails, closes what had begun. */
async function unlessItFails<T>(
  beginning: Promise<T>,
  begun: Closable,
  ending: { uninstall(): void },
): Promise<T> {
  try {
    return await beginning;
  } catch (error) {
    // What ends the process now is the error, exit code included.
    ending.uninstall();
    await begun.close();
    throw error;
  }
}
