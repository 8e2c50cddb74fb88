/** Everything that a benchmark starts: on free ports, for itself alone, and ended whatever happens. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { startGatewayProcess } from '../../test/support/gateway.ts';
import { startProcess } from '../../test/support/process.ts';
import { startRedisServer } from '../../test/support/redis-server.ts';

/** Something that answers whether a request may pass. */
export interface Server {
  readonly pid: number;
  /** Where a proxy would ask, with a slash at its end. */
  readonly url: string;
  /** Of a gateway: where it answers over gRPC. */
  readonly grpcPort?: number;
  /** Of a gateway: requests to Redis that failed, whose answers cost less than they should. */
  readonly failures?: () => Promise<number>;
  stop(): Promise<unknown>;
}

export interface RedisServer {
  readonly pid: number;
  readonly port: number;
  /** Contestants that share a server have databases of their own. */
  url(database?: number): string;
  readonly client: Redis;
}

export interface Lab extends AsyncDisposable {
  redis(): Promise<RedisServer>;
  /** `policies` is the text of a policy file; without a URL of Redis it counts in memory. */
  gateway(policies: string, redisUrl?: string, storeTimeoutMs?: number): Promise<Server>;
  /** A program below bench/ that prints its URL, or whatever matches, once it listens. */
  server(script: string, ...args: string[]): Promise<Server>;
}

/** Every answer must be measured, also when this machine does something else for a while. */
const PATIENT_MS = 1_000;

export function createLab(): Lab {
  const started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  started.defer(() => rmSync(folder, { recursive: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void started.disposeAsync().finally(() => process.exit(1)));
  }
  let files = 0;

  return {
    async redis() {
      const server = started.use(await startRedisServer());
      const { pid, port } = server;
      const client = new Redis(port, '127.0.0.1');
      started.defer(() => client.disconnect());
      return {
        pid,
        port,
        url: (database = 0) => `${server.url}/${database}`,
        client,
      };
    },
    async gateway(policies, redisUrl, storeTimeoutMs = PATIENT_MS) {
      const file = join(folder, `policies-${files++}.yaml`);
      writeFileSync(file, policies);
      const gateway = started.use(
        await startGatewayProcess({
          HEADGATE_POLICIES: file,
          HEADGATE_REDIS_URL: redisUrl,
          HEADGATE_STORE_TIMEOUT_MS: String(storeTimeoutMs),
          HEADGATE_GRPC_PORT: '0',
        }),
      );
      return {
        pid: gateway.pid,
        url: `${gateway.url}/envoy/`,
        grpcPort: gateway.grpcPort,
        failures: () => storeFailures(gateway.opsUrl),
        stop: gateway.stop,
      };
    },
    async server(script, ...args) {
      const path = fileURLToPath(new URL(`../${script}`, import.meta.url));
      const server = started.use(startProcess(process.execPath, [path, ...args]));
      const [url] = await server.printed(/http:\S+(?=\n)/);
      return { pid: server.pid, url: `${url}/envoy/`, stop: server.stop };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function storeFailures(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  const counts = metrics.matchAll(/^headgate_store_errors_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
