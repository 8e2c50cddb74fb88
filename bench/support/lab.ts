/** Starts the programs of a benchmark on free ports, and ends them, also if it fails. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { startGatewayProcess } from '../../test/support/gateway.ts';
import { accepting, startProcess } from '../../test/support/process.ts';
import type { RunningProgram } from '../../test/support/proxies.ts';
import { startRedisServer } from '../../test/support/redis-server.ts';
import { buildCheckouts } from './checkouts.ts';

/** Answers whether a request may pass; or a proxy that answers requests. */
export interface Server {
  readonly pid: number;
  /** Where a proxy sends its checks, with a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Where it answers over gRPC, if it does. */
  readonly grpcPort: number;
  /** Of a gateway: requests to Redis that failed, whose answers cost less than they should. */
  readonly failures?: () => Promise<number>;
  /** Of a gateway: requests whose outcomes were reported and changed a count. */
  readonly settled?: () => Promise<number>;
  stop(): Promise<unknown>;
}

export interface RedisServer {
  readonly pid: number;
  readonly port: number;
  /** Contestants that share a server have databases of their own. */
  url(database?: number): string;
  readonly client: Redis;
}

/**
 * Starts a gateway. `policies` is the text of a policy file; without a URL of Redis it counts in memory.
 */
export type StartGateway = (
  policies: string,
  redisUrl?: string,
  settings?: NodeJS.ProcessEnv,
) => Promise<Server>;

/** How to start a program that listens on a port. */
interface Listening {
  readonly port: number;
  /** Of the requests, over HTTP. */
  readonly path?: string;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** The gateway of a checkout. */
export interface Variant {
  readonly name: string;
  readonly gateway: StartGateway;
}

export interface Lab extends AsyncDisposable {
  redis(): Promise<RedisServer>;
  /** Of this checkout. */
  readonly gateway: StartGateway;
  /** This checkout, then those of --against. */
  readonly variants: readonly Variant[];
  /** A program below bench/ that prints its URL once it listens. */
  server(script: string, ...args: string[]): Promise<Server>;
  program(command: string, listening: Listening): Promise<Server>;
  proxy(start: Promise<RunningProgram>): Promise<Server>;
  /** A new folder with these files, by their names. */
  folder(files: Readonly<Record<string, string>>): string;
}

/** Every request must be counted, also when this machine does something else for a while. */
const PATIENT: NodeJS.ProcessEnv = { HEADGATE_STORE_TIMEOUT_MS: '1000' };

export function createLab(): Lab {
  const started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void started.disposeAsync().finally(() => process.exit(1)));
  }
  const newFolder: Lab['folder'] = (files) => {
    const path = mkdtempSync(join(folder, 'files-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
    return path;
  };
  const gatewayOf =
    (command: string): StartGateway =>
    async (policies, redisUrl, settings = {}) => {
      const env = { ...PATIENT, ...settings };
      const gateway = started.use(
        await startGatewayProcess(
          {
            HEADGATE_POLICIES: join(newFolder({ 'policies.yaml': policies }), 'policies.yaml'),
            HEADGATE_REDIS_URL: redisUrl,
            HEADGATE_GRPC_PORT: '0',
            ...env,
          },
          command,
        ),
      );
      return {
        pid: gateway.pid,
        url: `${gateway.url}/envoy/`,
        port: gateway.port,
        grpcPort: gateway.grpcPort,
        // Without patience, late answers are part of what is measured.
        ...(env.HEADGATE_STORE_TIMEOUT_MS === PATIENT.HEADGATE_STORE_TIMEOUT_MS && {
          failures: () => sumOf(gateway.opsUrl, STORE_FAILURES),
        }),
        settled: () => sumOf(gateway.opsUrl, SETTLED),
        stop: gateway.stop,
      };
    };
  const variants = buildCheckouts(folder).map(({ name, command }) => ({
    name,
    gateway: gatewayOf(command),
  }));
  const [own] = variants;
  if (own === undefined) throw new Error('this checkout was not built');

  return {
    variants,
    gateway: own.gateway,
    folder: newFolder,
    async redis() {
      const server = started.use(await startRedisServer());
      const { pid, port } = server;
      // A server that has ended stays away: to connect again would only print that it refuses.
      const client = new Redis(port, '127.0.0.1', { retryStrategy: () => null });
      started.defer(() => client.disconnect());
      return {
        pid,
        port,
        url: (database = 0) => `${server.url}/${database}`,
        client,
      };
    },
    async server(script, ...args) {
      const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
      const server = started.use(startProcess(process.execPath, [path, ...args]));
      const [url] = await server.printed(/http:\S+(?=\n)/);
      return serverAt(url, server);
    },
    async program(command, { port, path = '/', args = [], env = {} }) {
      const program = started.use(startProcess(command, args, { env: { ...process.env, ...env } }));
      await accepting(port, program);
      const url = `http://127.0.0.1:${port}`;
      return { ...serverAt(url, program), url: url + path };
    },
    async proxy(start) {
      const proxy = await start;
      let isStopped = false;
      const stop = async () => {
        if (isStopped) return;
        isStopped = true;
        await proxy[Symbol.asyncDispose]();
      };
      started.defer(stop);
      return serverAt(proxy.url, { pid: proxy.pid, stop });
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function serverAt(url: string, { pid, stop }: Pick<Server, 'pid' | 'stop'>): Server {
  const port = Number(new URL(url).port);
  return { pid, url: `${url}/envoy/`, port, grpcPort: port, stop };
}

const STORE_FAILURES = /^headgate_store_errors_total\{.*\} (\d+)$/gm;
const SETTLED = /^headgate_settlements_total\{.*result="settled".*\} (\d+)$/gm;

/** The sum of the metrics that match. */
async function sumOf(opsUrl: string, pattern: RegExp): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  return [...metrics.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);
}
