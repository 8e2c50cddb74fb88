/** A port where a gateway is, is not, hangs, is killed, or has a fault. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { POLICIES } from './failure-policies.ts';
import { startFakeRedis } from './fake-redis.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { freePort } from './process.ts';

export interface GatewayLab extends AsyncDisposable {
  readonly port: number;
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
  const port = await freePort();
  let gateway: Gateway | undefined;
  let standIn: Server | undefined;

  async function end() {
    await gateway?.stop('SIGKILL');
    standIn?.close().closeAllConnections();
    gateway = undefined;
    standIn = undefined;
  }

  async function revive() {
    await end();
    redis.misbehave(undefined);
    gateway = await startGateway({
      HEADGATE_PORT: String(port),
      HEADGATE_POLICIES: policyFile,
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
    });
  }

  return {
    port,
    revive,
    arm: {
      'is not there': async () => void (await gateway?.stop()),
      async 'is killed while it decides'() {
        await revive();
        redis.misbehave(({ name }) => {
          if (name !== 'take') return false;
          gateway?.signal('SIGKILL');
          return true;
        });
      },
      hangs: async () => gateway?.signal('SIGSTOP'),
      async 'answers 500, a fault of its own'() {
        if (standIn !== undefined) return;
        await end();
        standIn = createServer((_request, response) => response.writeHead(500).end());
        await once(standIn.listen(port, '127.0.0.1'), 'listening');
      },
    },
    async [Symbol.asyncDispose]() {
      await end();
      await redis[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}
