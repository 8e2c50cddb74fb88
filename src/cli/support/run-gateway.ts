/**
 * Runs a gateway, in this process alone or in several workers. Each of these roles loads only what it needs, for less
 * memory.
 */
import cluster from 'node:cluster';
import { reportNotes, reportPolicies, watchPolicies } from '../../app/policy-reload.ts';
import {
  followSupervisor,
  ignoreSignals,
  sendToSupervisor,
} from '../../app/workers/supervisor-messages.ts';
import { workerDuties } from '../../app/workers/worker-duties.ts';
import { ConfigError } from '../../config/config-error.ts';
import { openPolicySource, type PolicySource } from '../../config/policy-file/policy-source.ts';
import { type Environment, readEnvironment } from '../../config/settings/environment.ts';
import { VERSION } from '../../config/version.ts';
import { createTelemetry, type Telemetry } from '../../telemetry/telemetry.ts';
import { banner } from './banner.ts';
import { textOf } from './output.ts';
import { type Closable, endOnFault, endWithGrace } from './shutdown.ts';

export interface ServeFlags {
  readonly policies?: string;
}

interface Configured {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
}

/** `read` throws a ConfigError if settings have mistakes. */
export async function serve(
  flags: ServeFlags,
  read = () => readEnvironment(process.env),
): Promise<void> {
  try {
    await serveInRole({ ...read(), ...flags });
  } catch (error) {
    // The channel to the supervisor would keep this process alive.
    cluster.worker?.disconnect();
    throw error;
  }
}

async function serveInRole(environment: Environment): Promise<void> {
  const { logLevel: level, worker } = environment;
  if (worker !== undefined && !process.connected) {
    throw new ConfigError(['HEADGATE_WORKER: is set by supervisors for their workers, unset it']);
  }
  const telemetry = createTelemetry({ level, version: VERSION, worker, now: Date.now });
  // Also in a supervisor: a mistake in the file stops it before any worker starts.
  const configured = { environment, telemetry, policies: openPolicySource(environment) };
  if (environment.worker !== undefined) await serveAsWorker(configured);
  else if (environment.workers > 1) await serveByWorkers(configured);
  else await serveAlone(configured);
}

async function serveAlone({ environment, policies, telemetry }: Configured): Promise<void> {
  reportPolicies(policies, telemetry.policyFile);
  const { createGateway } = await import('../../app/gateway.ts');
  const gateway = await createGateway({ environment, policies, telemetry, now: Date.now });
  // Signals are handled before it listens. Otherwise some would end the process at once, and the first process of a
  // container would ignore them.
  const ending = endWithGrace(gateway, environment, telemetry);
  const reload = watchPolicies(policies, telemetry.policyFile);
  process.on('SIGHUP', () => {
    void reload();
    void gateway.reloadRateLimits();
  });
  // There are no workers to replace. Without a handler, the signal would end the process.
  process.on('SIGUSR2', () => {});
  const listening = await unlessItFails(gateway.listen(), gateway, ending);
  telemetry.print(`${textOf(banner(environment, policies, listening))}\n`);
}

async function serveByWorkers({ environment, policies, telemetry }: Configured): Promise<void> {
  reportNotes(policies, telemetry.policyFile);
  const { createWorkerGateway } = await import('../../app/worker-gateway.ts');
  const gateway = createWorkerGateway(environment, telemetry);
  const ending = endWithGrace(gateway, environment, telemetry);
  process.on('SIGHUP', () => gateway.reload());
  process.on('SIGUSR2', () => void gateway.restart());
  const listening = await unlessItFails(gateway.listen(), gateway, ending);
  telemetry.print(`${textOf(banner(environment, policies, listening))}\n`);
}

async function serveAsWorker({ environment, policies, telemetry }: Configured): Promise<void> {
  ignoreSignals();
  telemetry.policyFile.inForce(policies.digest);
  const { createPortlessGateway } = await import('../../app/portless-gateway.ts');
  const gateway = await createPortlessGateway({ environment, policies, telemetry, now: Date.now });
  const ending = endOnFault(gateway, environment, telemetry);
  const reloadPolicies = watchPolicies(policies, telemetry.policyFile);
  const duties = workerDuties({
    gateway,
    telemetry,
    async reload() {
      await Promise.all([reloadPolicies(), gateway.reloadRateLimits()]);
    },
    send: sendToSupervisor,
    end: () => ending.close(),
  });
  followSupervisor(duties);
  const store = await unlessItFails(gateway.start(), gateway, ending);
  await sendToSupervisor({ type: 'ready', store });
}

/** Resolves as `starting` does. If that fails, closes the gateway. */
async function unlessItFails<T>(
  starting: Promise<T>,
  gateway: Closable,
  ending: { uninstall(): void },
): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    // The error ends the process, with its exit code.
    ending.uninstall();
    await gateway.close();
    throw error;
  }
}
