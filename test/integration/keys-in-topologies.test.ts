/** Keys of the store on each kind of Redis, and in workers: a change at one gateway takes effect in the others. */
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import {
  newAddress,
  operate,
  startOperated,
  startOperatedProcess,
  visit,
} from '../support/operations.ts';
import { startRedis, testWithOwnRedis, testWithRedis } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { temporaryFile } from '../support/temporary.ts';

const POLICIES = `
version: 1
identity: { sources: [api_key, ip], trusted_proxies: [loopback], api_key: { keys: redis } }
default: { limits: [10000/1h], plans: { free: [20000/1h], pro: [30000/1h] } }
`;
const WORKERS = 2;
/** As many answers in a row are those of every worker: each request has a new connection, which goes to the next one. */
const IN_A_ROW = 8;

/** The limit of a request with this key, from any address; its status if it is refused. */
async function limitOf(gateway: Gateway, key: string): Promise<string> {
  const { status, headers } = await visit(gateway, '/', { key, address: newAddress() });
  return status === 200 ? String(headers['x-ratelimit-limit']) : String(status);
}

async function limitBecomes(gateways: readonly Gateway[], key: string, wanted: string) {
  for (const gateway of gateways) {
    await eventually(
      async () => {
        for (let i = 0; i < IN_A_ROW; i++) {
          const limit = await limitOf(gateway, key);
          if (limit !== wanted) return limit;
        }
        return wanted;
      },
      (limit) => limit === wanted,
    );
  }
}

/** Right after a start, a gateway may not yet have what a change needs. */
async function done<T>(gateway: Gateway, what: string, body: object): Promise<T> {
  const { answer } = await eventually(
    () => operate<T>(gateway, what, body),
    ({ status }) => status === 200,
  );
  return answer;
}

async function added(gateway: Gateway, id: string): Promise<string> {
  const input = { id, plan: 'free', another: true };
  return (await done<{ key: string }>(gateway, 'POST /v1/keys', input)).key;
}

async function expectChangesEverywhere(gateways: readonly [Gateway, ...Gateway[]]) {
  const [first] = gateways;
  const last = gateways.at(-1) as Gateway;
  const key = await added(first, 'acme');
  await limitBecomes(gateways, key, '20000');
  await done(last, 'POST /v1/keys/change', { id: 'acme', plan: 'pro' });
  await limitBecomes(gateways, key, '30000');
  await done(first, 'POST /v1/keys/change', { id: 'acme', blocked: true });
  await limitBecomes(gateways, key, '403');
  await done(last, 'POST /v1/keys/revoke', { id: 'acme' });
  await limitBecomes(gateways, key, '10000');
  const another = await added(last, 'acme');
  await limitBecomes(gateways, another, '20000');
  return another;
}

testWithRedis('every worker follows changes', async () => {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startRedis());
  const env = { HEADGATE_REDIS_URL: redis.url };
  const file = temporaryFile(lab, POLICIES);
  const many = lab.use(
    await startOperatedProcess(file, { ...env, HEADGATE_WORKERS: String(WORKERS) }),
  );
  await expectChangesEverywhere([lab.use(await startOperated(file, env)), many]);
});

testWithOwnRedis('gateways on a cluster follow changes', async () => {
  await using lab = new AsyncDisposableStack();
  const cluster = lab.use(await startRedisCluster());
  const env = { HEADGATE_REDIS_URL: cluster.url };
  const file = temporaryFile(lab, POLICIES);
  const start = async () => lab.use(await startOperated(file, env));
  const gateways = [await start(), await start()] as const;
  // Several keys lie in several slots.
  for (let i = 0; i < 3; i++) await expectChangesEverywhere(gateways);
});

testWithOwnRedis(
  'gateways follow changes after sentinels have made the replica master',
  async () => {
    await using lab = new AsyncDisposableStack();
    const redis = lab.use(await startRedisSentinel());
    const env = { HEADGATE_REDIS_URL: redis.url };
    const file = temporaryFile(lab, POLICIES);
    const start = async () => lab.use(await startOperated(file, env));
    const gateways = [await start(), await start()] as const;
    const key = await expectChangesEverywhere(gateways);
    const { master } = await redis.roles();
    await redis.failOver();
    await eventually(
      () => redis.roles(),
      (roles) => roles.master !== master,
    );
    // Until the old master follows, it takes changes that are then lost.
    await redis.settled();
    await limitBecomes(gateways, key, '20000');
    await done(gateways[1], 'POST /v1/keys/change', { id: 'acme', plan: 'pro' });
    await limitBecomes(gateways, key, '30000');
    await done(gateways[0], 'POST /v1/keys/revoke', { id: 'acme' });
    await limitBecomes(gateways, key, '10000');
  },
);
