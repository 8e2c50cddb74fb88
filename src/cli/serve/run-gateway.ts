/**
 * Runs a gateway, in this process alone or in several workers. Each of these roles loads only what it needs, for less
 * memory.
 */
import cluster from 'node:cluster';
import type { Gateway } from '../../gateway/app/gateway.ts';
import { OpenResources } from '../../gateway/app/open-resources.ts';
import { reportNotes, reportPolicies, watchPolicies } from '../../gateway/app/reload-on-change.ts';
import {
  followSupervisor,
  ignoreSignals,
  sendToSupervisor,
} from '../../gateway/app/workers/worker.ts';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import {
  openPolicySource,
  type PolicySource,
} from '../../gateway/config/policy-file/policy-source.ts';
import { type Environment, readEnvironment } from '../../gateway/config/settings/environment.ts';
import { VERSION } from '../../gateway/config/shipped-files.ts';
import { createTelemetry, type Telemetry } from '../../gateway/telemetry/telemetry.ts';
import { textOf } from '../output/output.ts';
import { banner } from './banner.ts';
import { failedStart } from './failed-start.ts';
import { endOnFault, endWithGrace } from './shutdown.ts';

export interface ServeFlags {
  readonly policies?: string;
}

interface Configured {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  readonly resources: OpenResources;
}

/** `read` throws a ConfigError if settings have mistakes. */
export async function serve(
  flags: ServeFlags,
  read = () => readEnvironment(process.env),
): Promise<void> {
  const resources = new OpenResources();
  const environment = { ...read(), ...flags };
  try {
    await serveInRole(environment, resources);
  } catch (error) {
    // A signal ended the start, and decides the exit code.
    if (resources.isClosing) return;
    void closeAfterFailure(resources);
    throw failedStart(error, environment);
  }
}

/** Meanwhile the error is printed. It is the one to print, whatever cannot be closed. */
async function closeAfterFailure(resources: OpenResources): Promise<void> {
  await resources.close().catch(() => {});
  // The channel to the supervisor would keep this process alive.
  cluster.worker?.disconnect();
}

async function serveInRole(environment: Environment, resources: OpenResources): Promise<void> {
  const { logLevel: level, worker } = environment;
  if (worker !== undefined && !process.connected) {
    throw new ConfigError(['HEADGATE_WORKER: is set by supervisors for their workers, unset it']);
  }
  const telemetry = createTelemetry({ level, version: VERSION, worker, now: Date.now });
  resources.add(telemetry, (opened) => opened.close());
  // Also in a supervisor: a mistake in the file stops it before any worker starts.
  const policies = openPolicySource(environment);
  const configured = { environment, telemetry, policies, resources };
  if (environment.worker !== undefined) await serveAsWorker(configured);
  else if (environment.workers > 1) await serveByWorkers(configured);
  else await serveAlone(configured);
}

async function serveAlone(configured: Configured): Promise<void> {
  const { policies, telemetry } = configured;
  reportPolicies(policies, telemetry.policyFile);
  const { createGateway } = await import('../../gateway/app/gateway.ts');
  await listen(configured, async () => {
    const gateway = await createGateway({ ...configured, now: Date.now });
    const reload = watchPolicies(policies, telemetry.policyFile);
    process.on('SIGHUP', () => {
      void reload();
      void gateway.reloadRateLimits();
    });
    return gateway;
  });
}

async function serveByWorkers(configured: Configured): Promise<void> {
  reportNotes(configured.policies, configured.telemetry.policyFile);
  const { createWorkerGateway } = await import('../../gateway/app/worker-gateway.ts');
  await listen(configured, async () => {
    const gateway = createWorkerGateway(configured);
    process.on('SIGHUP', () => gateway.reload());
    process.on('SIGUSR2', () => void gateway.restart());
    return gateway;
  });
}

/** Signals are handled before anything is opened. Otherwise some would end the process at once, and leave it open. */
async function listen(configured: Configured, open: () => Promise<Gateway>): Promise<void> {
  const { environment, policies, telemetry, resources } = configured;
  let gateway: Gateway | undefined;
  const drain = async (durationMs: number) => gateway?.drain(durationMs);
  const app = { drain, close: () => resources.close() };
  resources.add(endWithGrace(app, environment, telemetry), (ending) => ending.uninstall());
  // Without a handler, they would end the process. There may be no workers to replace.
  process.on('SIGHUP', () => {});
  process.on('SIGUSR2', () => {});
  const opened = await open();
  const listening = await opened.listen();
  if (resources.isClosing) return;
  gateway = opened;
  telemetry.print(`${textOf(banner(environment, policies, listening))}\n`);
}

async function serveAsWorker(configured: Configured): Promise<void> {
  const { environment, policies, telemetry, resources } = configured;
  ignoreSignals();
  telemetry.policyFile.inForce(policies.digest);
  const { createPortlessGateway } = await import('../../gateway/app/portless-gateway.ts');
  const ending = resources.add(
    endOnFault({ close: () => resources.close() }, environment, telemetry),
    (opened) => opened.uninstall(),
  );
  const gateway = await createPortlessGateway({ ...configured, now: Date.now });
  const reloadPolicies = watchPolicies(policies, telemetry.policyFile);
  followSupervisor({
    gateway,
    telemetry,
    async reload() {
      await Promise.all([reloadPolicies(), gateway.reloadRateLimits()]);
    },
    end: () => ending.close(),
  });
  const store = await gateway.start();
  await sendToSupervisor({ type: 'ready', store });
}
