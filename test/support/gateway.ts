/**
 * Gateways for tests: in this process where only their answers matter, which takes milliseconds, or as the program that
 * users start, which takes half a second of CPU.
 */

import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { banner } from '../../src/cli/serve/banner.ts';
import { createGateway } from '../../src/gateway/app/gateway.ts';
import { OpenResources } from '../../src/gateway/app/open-resources.ts';
import { reportPolicies, watchPolicies } from '../../src/gateway/app/reload-on-change.ts';
import { openPolicySource } from '../../src/gateway/config/policy-file/policy-source.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { VERSION } from '../../src/gateway/config/shipped-files.ts';
import { createTelemetry } from '../../src/gateway/telemetry/telemetry.ts';
import { eventually } from './eventually.ts';
import { call } from './http.ts';
import { type RunningProcess, startProcess } from './process.ts';
import { MAIN, NODE } from './tested-command.ts';

export interface Gateway extends AsyncDisposable {
  /** Of the check server, without a path. */
  readonly url: string;
  readonly opsUrl: string;
  readonly port: number;
  /** Where it answers over gRPC; only with HEADGATE_GRPC_PORT. */
  readonly grpcPort: number;
  /** Its banner and its log so far. */
  output(): string;
  /** Resolves once the output matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<unknown>;
}

export interface GatewayProcess extends Gateway, RunningProcess {
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Gateways start a third sooner if Node has compiled their source before. */
const NODE_COMPILE_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/headgate', import.meta.url),
);
const PORTS = {
  HEADGATE_PORT: '0',
  HEADGATE_OPS_PORT: '0',
  HEADGATE_GRPC_PORT: 'off',
  HEADGATE_DRAIN_MS: '0',
};
const PRINTED_WITHIN_MS = 60_000;

/**
 * For tests in which Redis is well. A busy machine delays its answers, so they are waited for, and the gateway is handed
 * over when Redis counts: a start itself waits half a second for it.
 */
export const PATIENT = { HEADGATE_STORE_TIMEOUT_MS: '10000' } as const;

export interface GatewayOptions {
  /** Reloads the policies when their files change, as the program does. The files are watched until this process ends. */
  readonly reloads?: boolean;
  /** Its clock, in milliseconds since the epoch. Redis has its own. */
  readonly now?: () => number;
}

/** In this process, without signals. With workers it is the program. */
export async function startGateway(
  env: NodeJS.ProcessEnv = {},
  { reloads = false, now = Date.now }: GatewayOptions = {},
): Promise<Gateway> {
  if (process.env.TEST_MAIN !== undefined) return startGatewayProcess(env);
  const environment = readEnvironment({ ...PORTS, ...env });
  if (environment.workers > 1) return startGatewayProcess(env);
  const policies = openPolicySource(environment);
  let text = '';
  const destination = {
    write(line: string) {
      text += line;
    },
  };
  const { logLevel: level } = environment;
  const telemetry = createTelemetry({ level, version: VERSION, now, destination });
  reportPolicies(policies, telemetry.policyFile);
  const resources = new OpenResources();
  const gateway = await createGateway({ environment, policies, telemetry, now, resources });
  if (reloads) watchPolicies(policies, telemetry.policyFile);
  const listening = await gateway.listen();
  text += `${banner(environment, policies, listening).join('\n')}\n`;
  const portOf = (address: AddressInfo | string | undefined) =>
    typeof address === 'object' ? address.port : 0;
  const urlOf = (address: AddressInfo | string | undefined) =>
    `http://127.0.0.1:${portOf(address)}`;
  await redisCounts(env, urlOf(listening.ops));
  const stop = () => resources.close();
  return {
    url: urlOf(listening.check),
    opsUrl: urlOf(listening.ops),
    port: portOf(listening.check),
    grpcPort: portOf(listening.grpc),
    output: () => text,
    printed: (pattern) =>
      eventually(
        async () => pattern.exec(text),
        (match) => match !== null,
        PRINTED_WITHIN_MS,
        `${pattern} in the output`,
      ) as Promise<RegExpExecArray>,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const REDIS_COUNTS_WITHIN_MS = 5_000;

/** Goes on after some time, for tests in which Redis is reachable but does not count. */
async function redisCounts(env: NodeJS.ProcessEnv, opsUrl: string): Promise<void> {
  if (env.HEADGATE_STORE_TIMEOUT_MS !== PATIENT.HEADGATE_STORE_TIMEOUT_MS) return;
  const untilMs = performance.now() + REDIS_COUNTS_WITHIN_MS;
  const isDegraded = async () => (await call(opsUrl, '/readyz')).body.includes('"degraded"');
  while ((await isDegraded()) && performance.now() < untilMs) await sleep(20);
}

/** As users start it. `main` is the program of another headgate. */
export async function startGatewayProcess(
  env: NodeJS.ProcessEnv = {},
  main = MAIN,
): Promise<GatewayProcess> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HEADGATE_|REDIS_URL$)/.test(name)),
  );
  const started = startProcess(NODE, [main, 'serve'], {
    env: { ...inherited, NODE_COMPILE_CACHE, ...PORTS, ...env },
  });
  const [, url = '', opsUrl = ''] = await started.printed(
    /proxies at (http:\S+) and operators at (http:\S+)[\s\S]* {2}store .*\n/,
  );
  await redisCounts(env, opsUrl);
  const grpcUrl = /grpc +(http:\S+)/.exec(started.output())?.[1] ?? 'http://127.0.0.1:0';
  return {
    ...started,
    url,
    opsUrl,
    port: Number(new URL(url).port),
    grpcPort: Number(new URL(grpcUrl).port),
  };
}
