/** Gateways on one Redis, one gateway with other keys, and clients of several kinds. */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { credentials, Client as GrpcClient } from '@grpc/grpc-js';
import { accessLog, type LoggedRequest, STREAM_ACCESS_LOGS } from '../../support/access-logs.ts';
import { waitUntil } from '../../support/eventually.ts';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../../support/gateway.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { policiesIn, policyFile } from './policies.ts';

export interface LabOptions {
  readonly redisUrl: string;
  readonly gateways: number;
  readonly clients: number;
  /** How long tokens can be settled: `2s`. */
  readonly settleWithin: string;
  /** Their clocks are half a minute before midnight, until `passMidnight`. */
  readonly beforeMidnight: boolean;
}

export interface TestClient {
  /** For an operator. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Lab {
  readonly gateways: readonly GatewayProcess[];
  /** It has keys of its own, and counts alone. */
  readonly foreign: GatewayProcess;
  readonly agent: Agent;
  readonly clients: readonly TestClient[];
  /** Resolves once all gateways have that version of the policy file. */
  load(version: number): Promise<void>;
  passMidnight(): void;
  /** Sends what Envoy logs to a gateway. */
  log(gateway: number, ...requests: readonly LoggedRequest[]): void;
}

const CLOCK = fileURLToPath(new URL('moved-clock.ts', import.meta.url));
const DAY_MS = 86_400_000;
const HALF_MINUTE_MS = 30_000;

export async function startLab(options: LabOptions, stack: AsyncDisposableStack): Promise<Lab> {
  const path = join(temporaryFolder(stack), 'policies.yaml');
  const clients = Array.from({ length: options.clients }, (_, i) => clientOf(i));
  const keys = clients.flatMap(({ name, headers }) =>
    name.startsWith('listed')
      ? { id: name, sha256: hash('sha256', headers['x-api-key'] ?? '') }
      : [],
  );
  writeFileSync(path, policyFile(0, keys, 0));
  // The nearest one, so that the clock is at most half a day ahead of that of Redis, or behind.
  const midnightMs = Math.round(Date.now() / DAY_MS) * DAY_MS;
  const aheadMs = options.beforeMidnight ? midnightMs - HALF_MINUTE_MS - Date.now() : 0;
  const env = {
    ...PATIENT,
    HEADGATE_POLICIES: path,
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_SETTLE_WITHIN: options.settleWithin,
    HEADGATE_LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import ${CLOCK}`,
    CLOCK_AHEAD_MS: String(aheadMs),
    CLOCK_LATER_AHEAD_MS: String(aheadMs + 2 * HALF_MINUTE_MS),
  };
  const start = async (own: NodeJS.ProcessEnv) =>
    stack.use(await startGatewayProcess({ ...env, ...own }));
  const shared = { HEADGATE_REDIS_URL: options.redisUrl };
  const [foreign, ...gateways] = await Promise.all([
    start({}),
    ...Array.from({ length: options.gateways }, () => start(shared)),
  ]);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  stack.defer(() => agent.destroy());
  const streams = gateways.map(({ grpcPort }) => openStream(grpcPort, stack));
  let written = 0;
  return {
    gateways,
    foreign: foreign as GatewayProcess,
    agent,
    clients,
    async load(version) {
      written++;
      writeFileSync(path, policyFile(version, keys, written));
      const all = [...gateways, foreign as GatewayProcess];
      for (const each of all) each.signal('SIGHUP');
      const count = policiesIn(version, written);
      const loaded = new RegExp(`"policies_loaded","policies":${count + 1}\\b`);
      await waitUntil('the policies are loaded', async () =>
        all.every((each) => loaded.test(each.output())),
      );
    },
    passMidnight() {
      for (const each of gateways) each.signal('SIGUSR2');
    },
    log: (gateway, ...requests) => void streams[gateway]?.write(accessLog(...requests)),
  };
}

function clientOf(i: number): TestClient {
  const address = `203.0.113.${i + 1}`;
  const kind = (['listed', 'unlisted', 'address'] as const)[i % 3];
  const name = kind === 'address' ? address : `${kind}-${i}`;
  const key = kind === 'address' ? {} : { 'x-api-key': `the key of ${name}` };
  return { name, headers: { 'x-headgate-client-ip': address, ...key } };
}

function openStream(port: number, stack: AsyncDisposableStack) {
  const client = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
  stack.defer(() => client.close());
  const same = (message: Buffer) => message;
  return client.makeClientStreamRequest(STREAM_ACCESS_LOGS, same, same, () => {});
}
