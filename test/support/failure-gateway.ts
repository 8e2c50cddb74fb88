/** A port where a gateway is, is not, hangs, is killed, or has a fault. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { POLICIES } from './failure-policies.ts';
import { startFakeRedis } from './fake-redis.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway.ts';
import { freePort } from './ports.ts';

export interface GatewayLab extends AsyncDisposable {
  readonly port: number;
  readonly grpcPort: number;
  /** Before every request; nothing happens when it is so already. */
  readonly arm: Readonly<Record<string, () => Promise<void>>>;
  /** A gateway that is well, whatever was there before. */
  revive(): Promise<void>;
}

/** Longer than any proxy waits: a gateway that is to be killed is still deciding. */
const STORE_TIMEOUT_MS = 5_000;

export async function startGatewayLab(): Promise<GatewayLab> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-failures-'));
  const policyFile = join(folder, 'policies.yaml');
  writeFileSync(policyFile, POLICIES);
  const redis = await startFakeRedis();
  const [port, grpcPort] = [await freePort(), await freePort()];
  let gateway: GatewayProcess | undefined;
  let standIns: AsyncDisposableStack | undefined;

  async function end() {
    await gateway?.stop('SIGKILL');
    await standIns?.disposeAsync();
    gateway = undefined;
    standIns = undefined;
  }

  async function revive() {
    await end();
    redis.misbehave(undefined);
    gateway = await startGatewayProcess({
      HEADGATE_PORT: String(port),
      HEADGATE_GRPC_PORT: String(grpcPort),
      HEADGATE_POLICIES: policyFile,
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
    });
  }

  return {
    port,
    grpcPort,
    revive,
    arm: {
      'is down': async () => void (await gateway?.stop()),
      async 'is killed while it decides'() {
        await revive();
        redis.misbehave(({ name }) => {
          if (name !== 'take') return false;
          gateway?.signal('SIGKILL');
          return true;
        });
      },
      hangs: async () => gateway?.signal('SIGSTOP'),
      async 'answers 500 because of a fault'() {
        if (standIns !== undefined) return;
        await end();
        standIns = new AsyncDisposableStack();
        standIns.use(await faulty(createServer(), port));
        standIns.use(await faulty(createHttp2Server(), grpcPort));
      },
    },
    async [Symbol.asyncDispose]() {
      await end();
      await redis[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Answers every request with 500. */
async function faulty(server: Server | Http2Server, port: number): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  server.on('connection', (connection: Socket) => connections.add(connection));
  server.on('request', (_request, response: ServerResponse) => response.writeHead(500).end());
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    [Symbol.asyncDispose]: async () => {
      for (const connection of connections) connection.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
