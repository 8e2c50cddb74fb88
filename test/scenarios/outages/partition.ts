/**
 * Cuts four gateways, or one of them, off from their Redis, and connects them again. Records what they admit together, of
 * clients that use all gateways, one of them, or one and then all.
 *
 * Load pauses while connections are cut and restored, so that it is known for every request what counted it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../../support/eventually.ts';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import {
  type Ask,
  brokenRules,
  faultRules,
  isMeasured,
  type OutagePolicy,
  policyFile,
  requestOf,
  type Sample,
  startAsking,
  startOutageGateway,
} from './lab.ts';

const GATEWAYS = 4;
/** The first has even shares, the second uneven ones. Of the third, some gateways get no share. */
export const LIMITS = [40, 10, 3] as const;

export const GROUPS = {
  steady: 'at all gateways, from before the cut on',
  fresh: 'at all gateways, from the cut on',
  pinned: 'at one gateway, from the cut on',
  moving: 'at one gateway until the cut, at all from then on',
  'one cut': 'at all gateways, one of them cut',
} as const;
export type GroupName = keyof typeof GROUPS;
const GROUP_NAMES = Object.keys(GROUPS) as GroupName[];

const PHASES = ['before', 'cut', 'after', 'one cut'] as const;
export type Phase = (typeof PHASES)[number];

export interface PartitionOptions {
  readonly clientsPerGroup: number;
  /** Of each gateway. */
  readonly perSecond: number;
  /** Whether all gateways get requests at the same pace. On a busy machine they do not. */
  readonly hasEvenLoad: boolean;
}

/** One client under one limit. */
export interface Account {
  readonly group: GroupName;
  readonly limit: number;
  /** Admitted in each phase by each gateway. */
  readonly admitted: Readonly<Record<Phase, readonly number[]>>;
}

export interface PartitionRun {
  readonly accounts: readonly Account[];
  readonly requests: number;
  readonly wrong: readonly string[];
}

interface PartitionClient {
  readonly name: string;
  readonly group: GroupName;
  readonly limit: number;
  /** Its gateway, if it uses only one. */
  readonly home: number;
}

interface Lab {
  readonly gateways: readonly GatewayProcess[];
  readonly links: readonly TcpProxy[];
  readonly redis: Redis;
  readonly clients: readonly PartitionClient[];
  readonly perSecond: number;
  readonly hasEvenLoad: boolean;
}

/** No request waits so long: connections are either open or known to be closed. */
const STORE_TIMEOUT_MS = 10_000;
/** So that each client sends more than the largest limit, to one gateway or to all. */
const ROUNDS = 15;
const WITNESS = 'witness';
/** For a busy machine. */
const MOST_PATIENCE_MS = 30_000;

export async function runPartition(options: PartitionOptions): Promise<PartitionRun> {
  await using cleanUp = new AsyncDisposableStack();
  const lab = await startLab(cleanUp, options);
  const taken: { phase: Phase; gateway: number; sample: Sample }[] = [];
  const drive = async (phase: Phase) => {
    const note = (gateway: number) => (sample: Sample) => taken.push({ phase, gateway, sample });
    await Promise.all(
      lab.gateways.map((_, gateway) => driveOne(lab, phase, gateway, note(gateway))),
    );
  };

  await everyoneKnown(lab);
  await haveRedis(lab, () => true);
  await drive('before');
  for (const link of lab.links) link.cut();
  await haveRedis(lab, (gateway) => gateway < 0);
  await drive('cut');
  for (const link of lab.links) link.apply({});
  await haveRedis(lab, () => true);
  await drive('after');
  await everyoneKnown(lab);
  lab.links[0]?.cut();
  await haveRedis(lab, (gateway) => gateway !== 0);
  await drive('one cut');

  const samplesOf = Map.groupBy(taken, ({ sample }) => sample.ask.client);
  const accounts = lab.clients.map(({ name, group, limit }): Account => {
    const own = samplesOf.get(name) ?? [];
    const admittedIn = (phase: Phase) =>
      lab.gateways.map(
        (_, gateway) => own.filter((each) => isAdmission(each, phase, gateway)).length,
      );
    return {
      group,
      limit,
      admitted: {
        before: admittedIn('before'),
        cut: admittedIn('cut'),
        after: admittedIn('after'),
        'one cut': admittedIn('one cut'),
      },
    };
  });
  const wrong = brokenRules({
    ...faultRules(taken.map(({ sample }) => sample)),
    'gateways count in Redis if, and only if, they are connected to it': taken.every(
      ({ phase, gateway, sample }) => isMeasured(sample) === hasRedis(phase, gateway),
    ),
    ...sumRules(accounts, lab.hasEvenLoad),
  });
  return { accounts, requests: taken.length, wrong };
}

function isAdmission(
  taken: { readonly phase: Phase; readonly gateway: number; readonly sample: Sample },
  phase: Phase,
  gateway: number,
): boolean {
  return taken.phase === phase && taken.gateway === gateway && taken.sample.status === 200;
}

function hasRedis(phase: Phase, gateway: number): boolean {
  return phase === 'one cut' ? gateway !== 0 : phase !== 'cut';
}

async function startLab(
  cleanUp: AsyncDisposableStack,
  { clientsPerGroup, ...load }: PartitionOptions,
): Promise<Lab> {
  const server = cleanUp.use(await startRedisServer());
  const redis = new Redis(server.url);
  cleanUp.defer(() => redis.disconnect());
  const clients = GROUP_NAMES.flatMap((group) =>
    LIMITS.flatMap((limit) =>
      Array.from({ length: clientsPerGroup }, (_, i) => ({
        name: `${group}-${limit}-${i}`,
        group,
        limit,
        home: i % GATEWAYS,
      })),
    ),
  );
  const policies = LIMITS.map(
    (limit): OutagePolicy => ({ name: policyOf(limit), limit, onStoreFailure: 'local' }),
  );
  const names = [...clients.map(({ name }) => name), WITNESS];
  const file = await policyFile(cleanUp, policies, names);
  const links: TcpProxy[] = [];
  for (let i = 0; i < GATEWAYS; i++) links.push(cleanUp.use(await startTcpProxy(server.port)));
  const gateways = await Promise.all(
    links.map(({ port }) =>
      startOutageGateway(cleanUp, file, {
        HEADGATE_REDIS_URL: `redis://127.0.0.1:${port}`,
        HEADGATE_STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
      }),
    ),
  );
  return { gateways, links, redis, clients, ...load };
}

function policyOf(limit: number): string {
  return `limit-${limit}`;
}

const REPLICAS_KEY = 'hg:v1:replicas';
/** From the heartbeat in Redis until its gateway has read the reply. */
const ANSWER_MS = 250;

/** Resolves when each gateway knows from Redis that there are four. */
async function everyoneKnown({ redis }: Lab): Promise<void> {
  const heardMs = async () => Object.values(await redis.hgetall(REPLICAS_KEY)).map(Number);
  await eventually(heardMs, ({ length }) => length === GATEWAYS, MOST_PATIENCE_MS, 'four gateways');
  const [seconds, micros] = await redis.time();
  const allHereMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
  const haveAllBeaten = (times: readonly number[]) => times.every((ms) => ms > allHereMs);
  await eventually(heardMs, haveAllBeaten, MOST_PATIENCE_MS, 'a heartbeat of each gateway');
  await sleep(ANSWER_MS);
}

/** Resolves when exactly these gateways count in Redis. */
async function haveRedis(lab: Lab, should: (gateway: number) => boolean): Promise<void> {
  const { path, headers } = requestOf({ policy: 'default', client: WITNESS });
  for (const [i, { url }] of lab.gateways.entries()) {
    await eventually(
      () => call(url, path, { headers }),
      (answer) => (answer.headers['x-ratelimit-mode'] === undefined) === should(i),
      MOST_PATIENCE_MS,
      `gateway ${i} ${should(i) ? 'measures' : 'does not measure'} in Redis`,
    );
  }
}

async function driveOne(
  lab: Lab,
  phase: Phase,
  gateway: number,
  onSample: (sample: Sample) => void,
): Promise<void> {
  const asks = lab.clients.flatMap((client) =>
    Array<Ask>(asksOf(client, phase, gateway)).fill({
      policy: policyOf(client.limit),
      client: client.name,
    }),
  );
  const load = startAsking(lab.gateways[gateway] as GatewayProcess, lab.perSecond, asks, onSample);
  while (load.count < ROUNDS * asks.length) await sleep(10);
  await load.stop();
}

/** Requests in one round. A client of one gateway sends as many there as others send to all. */
function asksOf({ group, home }: PartitionClient, phase: Phase, gateway: number): number {
  const atHome = gateway === home ? GATEWAYS : 0;
  if (phase === 'one cut' || group === 'one cut') return phase === group ? 1 : 0;
  if (phase === 'before') return group === 'steady' ? 1 : group === 'moving' ? atHome : 0;
  return group === 'pinned' ? atHome : 1;
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Admissions in all phases. They are all in one window. */
export function totalOf({ admitted }: Account): number {
  return sum(PHASES.map((phase) => sum(admitted[phase])));
}

/** Admissions before and during the cut. */
export function untilMended({ admitted }: Account): number {
  return sum(admitted.before) + sum(admitted.cut);
}

const leastShare = (limit: number) => Math.floor(limit / GATEWAYS);
const mostShare = (limit: number) => Math.ceil(limit / GATEWAYS);

/** A gateway admits its share, less what it saw Redis admit. All shares together are the limit. */
function mostUntilMended({ limit, admitted }: Account): number {
  const beyondShare = admitted.before.map((count) => Math.max(0, count - leastShare(limit)));
  return limit + sum(beyondShare);
}

function sumRules(
  accounts: readonly Account[],
  hasEvenLoad: boolean,
): Readonly<Record<string, boolean>> {
  const all = (groups: readonly GroupName[], isSo: (account: Account) => boolean) =>
    accounts.filter(({ group }) => groups.includes(group)).every(isSo);
  const cuttable: GroupName[] = ['steady', 'fresh', 'pinned', 'moving'];
  const inRedis = ({ admitted }: Account) => sum(admitted.before) + sum(admitted.after);
  const isShare = (units: number, limit: number) =>
    units === leastShare(limit) || units === mostShare(limit);
  return {
    'Redis admits the limit, whatever gateways admitted without it': all(
      cuttable,
      (account) => inRedis(account) === account.limit,
    ),
    'until Redis is back, gateways admit no more than their shares and what they saw': all(
      cuttable,
      (account) => untilMended(account) <= mostUntilMended(account),
    ),
    'a client of all gateways gets at most 1/4 more than an even limit': all(
      hasEvenLoad ? ['steady', 'fresh'] : ['fresh'],
      (account) => account.limit % GATEWAYS !== 0 || untilMended(account) <= 1.25 * account.limit,
    ),
    'a client of all gateways gets the whole limit while they are cut off': all(
      ['fresh'],
      ({ limit, admitted }) => sum(admitted.cut) === limit,
    ),
    'a client of one gateway gets its share while it is cut off': all(['pinned'], (account) =>
      isShare(sum(account.admitted.cut), account.limit),
    ),
    'a client that moves to other gateways after the cut gets no second limit': all(
      ['moving'],
      (account) => untilMended(account) <= 2 * account.limit - leastShare(account.limit),
    ),
    'no window across the cut and the return has more than two limits': all(
      cuttable,
      (account) => totalOf(account) <= 2 * account.limit,
    ),
    'with one gateway cut off, a client gets the limit and the share of that gateway': all(
      ['one cut'],
      (account) => {
        const [share = 0, ...others] = account.admitted['one cut'];
        return sum(others) === account.limit && isShare(share, account.limit);
      },
    ),
  };
}
