/** Two gateways on one Redis, one with other keys, and what an attacker and an application send to them. */
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { temporaryFile } from '../../support/temporary.ts';

export const LIMIT = 10_000;
export const RESERVED = 500;
export const UNKNOWN = 800;
export const SMALL_LIMIT = 50;
const WINDOW_MS = 31 * 86_400_000;

const POLICIES = {
  version: 1,
  identity: { verified_headers: ['x-reserve'], trusted_proxies: ['loopback'] },
  default: { limits: ['1000000/1h'], on_store_failure: 'deny' },
  policies: [
    policy('chat', { limit: LIMIT, reserve: RESERVED, unknown: UNKNOWN }),
    policy('estimated', { limit: LIMIT, reserve: { header: 'x-reserve' }, unknown: UNKNOWN }),
    policy('tiny', { limit: SMALL_LIMIT, reserve: { header: 'x-reserve' }, unknown: 40 }),
  ],
};

interface Tokens {
  readonly limit: number;
  readonly reserve: number | { readonly header: string };
  readonly unknown: number;
}

function policy(name: string, { limit, reserve, unknown }: Tokens) {
  const counts = { algorithm: 'fixed-window', unit: 'tokens', reserve, unknown };
  return {
    name,
    match: { path: `/${name}` },
    limits: [{ rate: `${limit}/31d`, ...counts }],
    on_store_failure: 'deny',
  };
}

export interface SentReport {
  readonly token: string;
  readonly status?: number;
  readonly units?: Readonly<Record<string, number>>;
}

export class AttackLab {
  readonly gateways: readonly GatewayProcess[];
  readonly foreign: GatewayProcess;
  readonly redis: Redis;

  private constructor(gateways: readonly GatewayProcess[], redis: Redis) {
    const [foreign, ...own] = gateways;
    this.foreign = foreign as GatewayProcess;
    this.gateways = own;
    this.redis = redis;
  }

  static async start(redisUrl: string, stack: AsyncDisposableStack): Promise<AttackLab> {
    const path = temporaryFile(stack, JSON.stringify(POLICIES));
    const env = { ...PATIENT, HEADGATE_POLICIES: path, HEADGATE_GRPC_PORT: '0' };
    const start = async (own: NodeJS.ProcessEnv) =>
      stack.use(await startGatewayProcess({ ...env, ...own }));
    const shared = { HEADGATE_REDIS_URL: redisUrl };
    const gateways = await Promise.all([start({}), start(shared), start(shared)]);
    const redis = stack.adopt(new Redis(redisUrl), (open) => open.disconnect());
    return new AttackLab(gateways, redis);
  }

  /** The settle token of a request of this client. Undefined if it is denied. */
  async token(
    client: string,
    path = 'chat',
    { reserve, from }: Asked = {},
  ): Promise<string | undefined> {
    const { url } = from ?? this.any();
    const headers = {
      ...this.#headers(client),
      ...(reserve !== undefined && { 'x-reserve': reserve }),
    };
    const answer = await call(url, `/envoy/${path}`, { headers });
    return answer.headers['x-headgate-settle']?.toString();
  }

  /** Keys that no policy file lists count for their address, too, so every client has its own. */
  #headers(client: string): Record<string, string> {
    const digits = createHash('sha256').update(client).digest();
    const address = `10.${digits[0]}.${digits[1]}.${digits[2]}`;
    return { 'x-api-key': client, 'x-headgate-client-ip': address };
  }

  /** The results of reports in one call, or why it was refused. */
  async settle(
    settlements: readonly SentReport[],
    gateway = this.any(),
  ): Promise<readonly string[]> {
    const { body } = await call(gateway.url, '/settle', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ settlements }),
    });
    const answer = JSON.parse(body) as { error?: string; settlements?: { result: string }[] };
    return answer.settlements?.map(({ result }) => result) ?? [answer.error ?? body];
  }

  any(): GatewayProcess {
    return this.gateways[Math.floor(Math.random() * this.gateways.length)] as GatewayProcess;
  }

  /** What was charged to a client that sends a key which no policy file lists. */
  async charged(client: string, path = 'chat'): Promise<number> {
    const digest = createHash('sha256').update(client).digest('base64url').slice(0, 22);
    const key = `hg:v1:{k.${digest}}:${path}:client.${WINDOW_MS}.fixed.tokens`;
    return Number((await this.redis.get(key))?.split(' ')[1] ?? 0);
  }

  /** All counters of the policies that charge afterwards. */
  async counters(): Promise<string> {
    const keys = (await this.redis.keys('hg:v1:{*.fixed.tokens')).sort();
    const values = keys.length === 0 ? [] : await this.redis.mget(keys);
    return JSON.stringify(keys.map((key, i) => [key, values[i]]));
  }
}

interface Asked {
  readonly reserve?: string;
  readonly from?: GatewayProcess;
}
