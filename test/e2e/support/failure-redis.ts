/** A gateway that counts in a real Redis, and all failures of the two while the gateway still answers. */
import { writeFileSync } from 'node:fs';
import { eventually } from '../../support/eventually.ts';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { connectTo, startRedis, type TestRedis } from '../../support/redis.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { type GatewayPorts, newClient, POLICIES } from './failure-policies.ts';
import { LIMIT } from './failure-user.ts';

interface Happening {
  begin(): Promise<void>;
  end(): Promise<void>;
}

export interface RedisLab extends AsyncDisposable {
  readonly happenings: Readonly<Record<string, Happening>>;
  /** A client that has used so many units of the policy `local`. */
  clientAfter(units: number): Promise<string>;
  take(client: string): Promise<unknown>;
  /** How many requests the gateway has decided without Redis because the machine is busy. */
  shed(): Promise<number>;
  /** Starts both again, the gateway with its default timeout for Redis. Before that, no answer of Redis is late. */
  useDefaultTimeout(): Promise<void>;
}

/** Longer than all requests of a test. */
const DRAIN_MS = 20_000;
/** The gateway gives Redis up after so many late answers in a row, as the document says. */
const LATE_IN_A_ROW = 5;
const WITHIN_MS = 60_000;

export async function startRedisLab({ port, grpcPort }: GatewayPorts): Promise<RedisLab> {
  await using unlessItStarts = new AsyncDisposableStack();
  const policyFile = temporaryFile(unlessItStarts, POLICIES);
  let redis = await startRedis();
  // A frozen Redis does not hear SIGTERM.
  unlessItStarts.defer(async () => void (await redis.stop('SIGKILL')));
  const startGateway = (env: NodeJS.ProcessEnv) =>
    startGatewayProcess({
      HEADGATE_PORT: String(port),
      HEADGATE_GRPC_PORT: String(grpcPort),
      HEADGATE_POLICIES: policyFile,
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_DRAIN_MS: String(DRAIN_MS),
      ...env,
    });
  let gateway = await startGateway(PATIENT);
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
        for (let i = 0; i < LATE_IN_A_ROW; i++) await check(gateway, '/allow', newClient());
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
    happenings,
    clientAfter: (units) => clientAfter(gateway, units),
    async useDefaultTimeout() {
      await gateway.stop('SIGKILL');
      // The first Redis still counts the first gateway, and halves the local shares.
      await redis.stop();
      redis = await startRedis();
      gateway = await startGateway({});
    },
    take: (client) => check(gateway, '/local', client),
    shed: () => shedBy(gateway),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function check({ url }: GatewayProcess, path: string, client: string) {
  return call(url, `/envoy${path}`, { headers: { 'X-Api-Key': client } });
}

/** On a busy machine Redis may be late, and a request is not counted there. */
async function clientAfter(gateway: GatewayProcess, units: number): Promise<string> {
  const { client } = await eventually(
    async () => {
      const client = newClient();
      let counted = 0;
      for (let i = 0; i < units; i++) {
        const { headers } = await check(gateway, '/local', client);
        if (headers['x-ratelimit-mode'] === undefined) counted++;
      }
      return { client, counted };
    },
    ({ counted }) => counted === units,
    WITHIN_MS,
  );
  return client;
}

async function shedBy({ opsUrl }: GatewayProcess): Promise<number> {
  const { body } = await call(opsUrl, '/metrics');
  return Number(/^headgate_requests_shed_total(?:\{.*\})? (\d+)$/m.exec(body)?.[1]);
}

async function untilCounted(gateway: GatewayProcess) {
  await eventually(
    () => check(gateway, '/allow', newClient()),
    ({ headers }) => headers['x-ratelimit-mode'] === undefined,
    WITHIN_MS,
  );
}

async function untilStatus({ opsUrl }: GatewayProcess, status: string) {
  await eventually(
    () => call(opsUrl, '/readyz'),
    ({ body }) => JSON.parse(body).status === status,
    WITHIN_MS,
  );
}

async function tell(redis: TestRedis, command: string, ...words: string[]) {
  const client = connectTo(redis);
  await client.call(command, ...words);
  client.disconnect();
}
