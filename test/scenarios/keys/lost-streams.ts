/** What gateways make of a Redis that loses what it knew of keys, and of texts that another program writes there. */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Row } from '../../../tools/table.ts';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import {
  addKeys,
  addressOf,
  askOnce,
  connect,
  type Found,
  ms,
  msUntil,
  recordKeyOf,
  type Seen,
  startGateways,
  unmet,
} from './lab.ts';

/** Gateways read the changes every five seconds, and then look the key up. */
const READ_WITHIN_MS = 5_500;
const CHANGES = 'hg:v1:keys:changes';

interface Lab {
  readonly gateway: GatewayProcess;
  /** The first one has read the changes that this one makes once they take effect there. */
  readonly other: GatewayProcess;
  readonly admin: Redis;
}

interface Loss {
  readonly name: string;
  /** Resolves to whom the customers `known` and `unseen` are taken for in the end. */
  act(lab: Lab): Promise<Readonly<Record<'known' | 'unseen', Seen>>>;
}

const ask = (id: string) => ({ id, address: addressOf(7) });

/** As another program would: nothing is announced. */
async function writePlan(admin: Redis, id: string, plan: string): Promise<void> {
  const text = JSON.parse((await admin.get(recordKeyOf(id))) ?? '{}');
  await admin.set(recordKeyOf(id), JSON.stringify({ ...text, plan }));
}

/** Everything, as RESTORE takes it. */
async function dumpAll(admin: Redis) {
  const names = await admin.keys('hg:v1:key*');
  return Promise.all(names.map(async (name) => [name, await admin.dumpBuffer(name)] as const));
}

async function restoreAll(admin: Redis, dumped: Awaited<ReturnType<typeof dumpAll>>) {
  for (const [name, value] of dumped) await admin.restore(name, 0, value, 'REPLACE');
}

const LOSSES: readonly Loss[] = [
  {
    name: 'the stream is deleted, and a record with it',
    async act({ admin }) {
      await admin.del(CHANGES, recordKeyOf('known'));
      return { known: 'unlisted', unseen: 'free' };
    },
  },
  {
    name: 'the stream is deleted after a change',
    async act({ admin }) {
      await writePlan(admin, 'known', 'pro');
      await admin.del(CHANGES);
      return { known: 'pro', unseen: 'free' };
    },
  },
  {
    name: 'all is flushed',
    async act({ admin }) {
      await admin.flushall();
      return { known: 'unlisted', unseen: 'unlisted' };
    },
  },
  {
    // A key that is looked up in between is unlisted for five minutes, see known-keys.ts.
    name: 'all is flushed, and restored at once',
    async act({ admin }) {
      const backup = await dumpAll(admin);
      await admin.flushall();
      await restoreAll(admin, backup);
      return { known: 'free', unseen: 'free' };
    },
  },
  {
    name: 'an older backup is restored',
    async act({ gateway, other, admin }) {
      const backup = await dumpAll(admin);
      await addKeys(other, ['known'], 'pro');
      await msUntil(gateway, () => ask('known'), 'pro');
      await restoreAll(admin, backup);
      return { known: 'free', unseen: 'free' };
    },
  },
];

export async function runLosses(): Promise<Found> {
  const rows: Row[] = [];
  const late: string[] = [];
  for (const loss of LOSSES) {
    const tookMs = await measureLoss(loss);
    rows.push({ 'in Redis': loss.name, 'right again after': ms(tookMs) });
    if (tookMs > READ_WITHIN_MS) late.push(`${loss.name}: known within five seconds and a read`);
  }
  return { rows, wrong: [], late };
}

/** Rejects if the gateway does not find out within a minute. */
async function measureLoss({ act }: Loss): Promise<number> {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startRedisServer());
  const admin = connect(lab, redis.url);
  const env = { HEADGATE_REDIS_URL: redis.url, HEADGATE_STORE_TIMEOUT_MS: '10000' };
  const [gateway, other] = (await startGateways(lab, 2, env)) as [GatewayProcess, GatewayProcess];
  await addKeys(other, ['known', 'unseen'], 'pro');
  await msUntil(gateway, () => ask('known'), 'pro');
  // This takes effect when the gateway has read the change, so that nothing is left to read.
  await addKeys(other, ['known', 'unseen'], 'free');
  await msUntil(gateway, () => ask('known'), 'free');
  const sinceMs = performance.now();
  const wanted = await act({ gateway, other, admin });
  await msUntil(gateway, () => ask('known'), wanted.known);
  await msUntil(gateway, () => ask('unseen'), wanted.unseen);
  return performance.now() - sinceMs;
}

const RECORD = { id: 'forged', plan: 'pro', added: 1 };
const FORGED: Readonly<Record<string, (admin: Redis, key: string) => Promise<unknown>>> = {
  'a value of 20 MB': (admin, key) => admin.set(key, randomBytes(20_000_000)),
  'a record with 20 MB behind it': (admin, key) =>
    admin.set(key, JSON.stringify({ ...RECORD, comment: 'x'.repeat(20_000_000) })),
  'JSON without its end': (admin, key) => admin.set(key, '{"id":"forged","plan":'),
  'JSON as deep as fits': (admin, key) => admin.set(key, '['.repeat(4_096)),
  'a number in place of the id': (admin, key) =>
    admin.set(key, JSON.stringify({ ...RECORD, id: 7 })),
  'control characters in the id': (admin, key) =>
    admin.set(key, JSON.stringify({ ...RECORD, id: 'a\u0000\u001b[2J' })),
  'a plan that is an object': (admin, key) =>
    admin.set(key, JSON.stringify({ ...RECORD, plan: {} })),
  'an end that is no moment': (admin, key) =>
    admin.set(key, JSON.stringify({ ...RECORD, ends: 1e300 })),
  'bytes that are no text': (admin, key) => admin.set(key, Buffer.from([0xff, 0xfe, 0, 0xc3])),
  'a list': (admin, key) => admin.rpush(key, 'x'),
  'a hash': (admin, key) => admin.hset(key, 'id', 'forged'),
};

export async function runForgeries(): Promise<Found> {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startRedisServer());
  const admin = connect(lab, redis.url);
  const env = { HEADGATE_REDIS_URL: redis.url, HEADGATE_STORE_TIMEOUT_MS: '10000' };
  const [gateway] = (await startGateways(lab, 1, env)) as [GatewayProcess];
  await addKeys(gateway, ['acme'], 'pro');
  const names = Object.keys(FORGED);
  for (const name of names) {
    await FORGED[name]?.(admin, recordKeyOf(name));
    await admin.zadd('hg:v1:keys', 0, `acme\0${recordKeyOf(name).slice('hg:v1:key:'.length)}`);
  }
  await admin.zadd('hg:v1:keys', 0, 'no-digest', 0, randomBytes(1_000_000));
  const seen: Seen[] = [];
  for (const name of names) seen.push(await askOnce(gateway, ask(name)));
  const acme = await askOnce(gateway, ask('acme'));
  const listed = await call(gateway.opsUrl, '/v1/keys?count=1000');
  await admin.xadd(CHANGES, '*', 'digests', 'x'.repeat(20_000_000));
  await admin.publish('hg:v1:keys', 'x'.repeat(20_000_000));
  await addKeys(gateway, ['beta'], 'free');
  const beta = await askOnce(gateway, ask('beta'));
  const isAlive = !/"event":"(crashed|worker_lost|operation_failed)"/.test(gateway.output());
  // The stream or the index as another kind of value: changes are refused, and known keys stay.
  await admin.del(CHANGES);
  await admin.set(CHANGES, 'no stream');
  const acmeStill = await askOnce(gateway, ask('acme'));
  await admin.del(CHANGES);
  await addKeys(gateway, ['gamma'], 'free');
  await msUntil(gateway, () => ask('gamma'), 'free');
  return {
    rows: names.map((name, i) => ({ 'forged record': name, 'counts as': String(seen[i]) })),
    wrong: unmet({
      'a forged record counts as an unlisted key': seen.every((each) => each === 'unlisted'),
      'others go on': acme === 'pro' && beta === 'free' && acmeStill === 'pro',
      'the list is shown': listed.status === 200 && listed.body.includes('"acme"'),
      'the gateway lives': isAlive,
    }),
    late: [],
  };
}
