/** What clients with keys see while Redis is frozen, and while it is gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../../support/gateway.ts';
import { type RedisNode, startRedisNode } from '../../support/redis-node.ts';
import {
  type Answer,
  type Ask,
  addKeys,
  addressOf,
  askAll,
  change,
  count,
  type Found,
  keepAsking,
  ms,
  msUntil,
  names,
  startGateways,
  TIGHT,
  unmet,
  until,
  waitsOf,
} from './lab.ts';

export interface OutageOptions {
  readonly outageMs: number;
  /** The maximum time that a request waits for Redis. */
  readonly deadlineMs: number;
  readonly perSecond: number;
}

const CUSTOMERS = 50;
/** This machine may do something else meanwhile. */
const NOISE_MS = 150;
const EFFECTIVE_WITHIN_MS = 5_500;
/** Also if a busy machine runs other tests. */
const HANGS_MS = 20_000;

interface Fault {
  readonly name: string;
  begin(redis: RedisNode): Promise<void>;
  end(redis: RedisNode): Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'frozen',
    begin: async (redis) => redis.signal('SIGSTOP'),
    end: async (redis) => redis.signal('SIGCONT'),
  },
  {
    name: 'gone',
    begin: async (redis) => void (await redis.stop('SIGKILL')),
    end: (redis) => redis.startAgain(),
  },
];

export async function runOutages(options: OutageOptions): Promise<Found> {
  const all: Found[] = [];
  for (const fault of FAULTS) all.push(await runOutage(fault, options));
  return {
    rows: all.flatMap(({ rows }) => rows),
    wrong: all.flatMap(({ wrong }) => wrong),
    late: all.flatMap(({ late }) => late),
  };
}

/** On its disk, so that it comes back with what it knew. */
const startDurableRedis = () =>
  startRedisNode({
    args: (port) => [
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', ''],
      ...['--appendonly', 'yes', '--appendfsync', 'always'],
    ],
  });

async function runOutage(fault: Fault, options: OutageOptions): Promise<Found> {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startDurableRedis());
  const [gateway, other] = (await startGateways(lab, 2, {
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: String(options.deadlineMs),
  })) as [GatewayProcess, GatewayProcess];
  const { crowd, first, second } = await prepare(gateway, other);
  const traffic = keepAsking(gateway, options.perSecond, (i) => crowd[i % crowd.length] as Ask);
  const blocked = keepAsking(gateway, options.perSecond, () => BLOCKED);
  await sleep(1_000);
  const fromMs = performance.now();
  await fault.begin(redis);
  // When the gateway does not know yet that Redis is away, and when it does.
  const unseen = [...(await askAll(gateway, first))];
  await sleep(options.outageMs / 2);
  unseen.push(...(await askAll(gateway, second)));
  const isRefused = await revoke(other).then(
    () => false,
    () => true,
  );
  await sleep(Math.max(0, fromMs + options.outageMs - performance.now()));
  await fault.end(redis);
  const backMs = performance.now();
  const revokedMs = await revokeAgain(other, gateway);
  for (const ask of [...first, ...second]) await msUntil(gateway, () => ask, 'pro');
  const foundMs = performance.now() - backMs;
  await sleep(1_000);
  const [answers, refused] = [await traffic.stop(), await blocked.stop()];
  const figures = { answers, refused, unseen, fromMs, backMs, isRefused, revokedMs, foundMs };
  return judge(fault.name, figures, options.deadlineMs);
}

const revoke = (gateway: GatewayProcess) => change(gateway, 'revoke', { id: REVOKED.id });
const BLOCKED: Ask = { id: 'blocked', address: addressOf(200) };
const REVOKED: Ask = { id: 'revoked-later', address: addressOf(201) };

/** As operators are told to. Resolves to how long after that the key was unlisted at the other gateway. */
async function revokeAgain(at: GatewayProcess, gateway: GatewayProcess): Promise<number> {
  await until('a key can be revoked again', () =>
    revoke(at).then(
      () => true,
      () => false,
    ),
  );
  return msUntil(gateway, () => REVOKED, 'unlisted');
}

/** Customers in all the states that an outage must not change, and customers that the gateway has never seen. */
async function prepare(gateway: GatewayProcess, other: GatewayProcess) {
  const [known, unseen] = [names(CUSTOMERS, 'known'), names(2 * CUSTOMERS, 'unseen')];
  await addKeys(gateway, [...known, ...unseen, 'spent', 'blocked', REVOKED.id], 'pro');
  await change(gateway, 'change', { id: 'blocked', blocked: true });
  const spent = [
    { id: 'spent', address: addressOf(203), path: '/tight' },
    { id: 'invented', address: addressOf(204), path: '/tight' },
  ];
  const crowd: Ask[] = [
    ...known.map((id, i) => ({ id, address: addressOf(i) })),
    ...spent,
    REVOKED,
  ];
  for (const each of [gateway, other]) await msUntil(each, () => REVOKED, 'pro');
  for (let i = 0; i < TIGHT.pro + 2; i++) await askAll(gateway, spent);
  await askAll(gateway, crowd);
  const asks = unseen.map((id, i) => ({ id, address: addressOf(300 + i) }));
  return { crowd, first: asks.slice(0, CUSTOMERS), second: asks.slice(CUSTOMERS) };
}

interface Figures {
  readonly answers: readonly Answer[];
  /** These never need Redis, so what they wait is the noise of the machine. */
  readonly refused: readonly Answer[];
  readonly unseen: readonly Answer[];
  readonly fromMs: number;
  readonly backMs: number;
  readonly isRefused: boolean;
  readonly revokedMs: number;
  readonly foundMs: number;
}

function judge(name: string, figures: Figures, deadlineMs: number): Found {
  const { answers, refused, unseen, fromMs, backMs, isRefused, revokedMs, foundMs } = figures;
  const isMeanwhile = ({ dueMs }: Answer) => fromMs <= dueMs && dueMs <= backMs;
  const during = [...answers.filter(isMeanwhile), ...unseen];
  const noiseMs = waitsOf(refused.filter(isMeanwhile)).max;
  const before = answers.filter(({ dueMs }) => dueMs < fromMs);
  const of = (id: string) => answers.filter(({ ask }) => ask.id.startsWith(id));
  const waits = waitsOf(during);
  const named = (rules: readonly string[]) => rules.map((rule) => `${name}: ${rule}`);
  return {
    rows: [
      {
        'Redis is': name,
        'requests meanwhile': String(during.length),
        'without Redis': String(count(during, ({ mode }) => mode !== undefined)),
        'wait before: p50': ms(waitsOf(before).p50),
        meanwhile: ms(waits.p50),
        longest: ms(waits.max),
        'longest, unseen key': ms(waitsOf(unseen).max),
        'longest without Redis at all': ms(noiseMs),
        'known: other plan': String(count(of('known'), ({ seen }) => seen !== 'pro')),
        'fresh budgets': String(
          count([...of('spent'), ...of('invented')], ({ status }) => status === 200),
        ),
        'revoked after': ms(revokedMs),
        'unseen found after': ms(foundMs),
      },
    ],
    wrong: named(
      unmet({
        'known keys keep plan and identity': of('known').every(({ seen }) => seen === 'pro'),
        'blocked keys stay blocked': refused.every(({ seen }) => seen === 'blocked'),
        'unseen keys count as unlisted': unseen.every(({ seen }) => seen === 'unlisted'),
        'nobody gets a fresh budget': [...of('spent'), ...of('invented')].every(
          ({ status }) => status === 429,
        ),
        'a change is refused': isRefused,
        'every request is answered': during.every(({ status }) => status !== 0 && status < 500),
        'no request hangs': waits.max < HANGS_MS,
        'there was traffic': during.length > 0,
      }),
    ),
    late: named(
      unmet({
        'no request waits longer than the store timeout':
          waits.max <= deadlineMs + noiseMs + NOISE_MS,
        'a revoked key is unlisted in time': revokedMs <= EFFECTIVE_WITHIN_MS,
      }),
    ),
  };
}
