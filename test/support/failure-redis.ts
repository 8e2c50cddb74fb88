/** A gateway that counts in a real Redis, and everything that may happen to the two while proxies are answered. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { newClient, POLICIES } from './failure-policies.ts';
import { LIMIT } from './failure-user.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway.ts';
import { call } from './http.ts';
import { connectTo, startRedis, type TestRedis } from './redis.ts';

export interface Happening {
  begin(): Promise<void>;
  end(): Promise<void>;
}

export interface RedisLab extends AsyncDisposable {
  readonly gatewayPort: number;
  readonly grpcPort: number;
  readonly happenings: Readonly<Record<string, Happening>>;
  /** A client who has taken so many units of the policy `local`. */
  clientAfter(units: number): Promise<string>;
  take(client: string): Promise<unknown>;
}

/** Longer than all requests of a test. */
const DRAIN_MS = 20_000;
/** How many answers in a row come too late before Redis is asked no more, as the document says. */
const LATE_IN_A_ROW = 5;

export async function startRedisLab(): Promise<RedisLab> {
  await using unlessItStarts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-failures-'));
  unlessItStarts.defer(() => rmSync(folder, { recursive: true }));
  const policyFile = join(folder, 'policies.yaml');
  writeFileSync(policyFile, POLICIES);
  let redis = await startRedis();
  // One that is frozen would not hear a gentler signal.
  unlessItStarts.defer(async () => void (await redis.stop('SIGKILL')));
  const gateway = await startGatewayProcess({
    HEADGATE_POLICIES: policyFile,
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_DRAIN_MS: String(DRAIN_MS),
    HEADGATE_GRPC_PORT: '0',
  });
  unlessItStarts.defer(async () => void (await gateway.stop('SIGKILL')));
  const wellAgain = () => untilCounted(gateway);

  const happenings: Readonly<Record<string, Happening>> = {
    'all is well': { begin: async () => {}, end: async () => {} },
    'the policy file gets an error: the policies in force stay': {
      async begin() {
        writeFileSync(policyFile, POLICIES.replaceAll(`${LIMIT}/`, 'many/'));
        await gateway.printed(/policies_refused/);
      },
      async end() {
        writeFileSync(policyFile, POLICIES);
      },
    },
    'Redis refuses connections': {
      async begin() {
        await redis.stop();
        await untilStatus(gateway, 'degraded');
      },
      async end() {
        redis = await startRedis(redis.port);
        await wellAgain();
      },
    },
    'Redis hangs, until five answers in a row came too late': {
      begin: async () => redis.signal('SIGSTOP'),
      end: thaw,
    },
    'Redis hangs, from then on': {
      async begin() {
        redis.signal('SIGSTOP');
        for (let i = 0; i < LATE_IN_A_ROW; i++) await ask(gateway, '/allow', newClient());
      },
      end: thaw,
    },
    'Redis is out of memory': {
      begin: () => tell(redis, 'CONFIG', 'SET', 'maxmemory', '1'),
      async end() {
        await tell(redis, 'CONFIG', 'SET', 'maxmemory', '0');
        await wellAgain();
      },
    },
    'Redis is read-only': {
      begin: () => tell(redis, 'REPLICAOF', '127.0.0.1', '1'),
      async end() {
        await tell(redis, 'REPLICAOF', 'NO', 'ONE');
        await wellAgain();
      },
    },
    'the gateway was told to stop (SIGTERM), for HEADGATE_DRAIN_MS': {
      async begin() {
        gateway.signal('SIGTERM');
        await untilStatus(gateway, 'not_ready');
      },
      end: async () => void (await gateway.stop('SIGKILL')),
    },
  };

  async function thaw() {
    redis.signal('SIGCONT');
    await wellAgain();
  }

  const started = unlessItStarts.move();
  return {
    gatewayPort: gateway.port,
    grpcPort: gateway.grpcPort,
    happenings,
    async clientAfter(units) {
      const client = newClient();
      for (let i = 0; i < units; i++) await ask(gateway, '/local', client);
      return client;
    },
    take: (client) => ask(gateway, '/local', client),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function ask({ url }: GatewayProcess, path: string, client: string) {
  return call(url, `/envoy${path}`, { headers: { 'X-Api-Key': client } });
}

async function untilCounted(gateway: GatewayProcess) {
  await eventually(
    () => ask(gateway, '/allow', newClient()),
    ({ headers }) => headers['x-ratelimit-mode'] === undefined,
  );
}

async function untilStatus({ opsUrl }: GatewayProcess, status: string) {
  await eventually(
    () => call(opsUrl, '/readyz'),
    ({ body }) => JSON.parse(body).status === status,
  );
}

async function tell(redis: TestRedis, command: string, ...words: string[]) {
  const client = connectTo(redis);
  await client.call(command, ...words);
  client.disconnect();
}
