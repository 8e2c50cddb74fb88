/** How soon a change at one gateway takes effect in all of them, with messages and without. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Row } from '../../../tools/table.ts';
import { median } from '../../../tools/table.ts';
import type { GatewayProcess } from '../../support/gateway.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import {
  addKeys,
  addressOf,
  change,
  connect,
  count,
  type Found,
  keepAsking,
  ms,
  msUntil,
  names,
  type Seen,
  startGateways,
  unmet,
} from './lab.ts';

export interface ChangesOptions {
  readonly gateways: number;
  readonly rounds: number;
  /** Of those in which messages are lost. */
  readonly lossyRounds: number;
  readonly perSecond: number;
}

const WITHIN_MS = 1_000;
/** Gateways read the changes every five seconds, and then look the key up. */
const READ_WITHIN_MS = 5_500;
const CUSTOMERS = 100;
const ACCOUNT = 'gateways';

type Step = 'added' | 'upgraded' | 'blocked' | 'unblocked' | 'revoked';
type Latencies = Record<Step, number[]>;

export async function runChanges(options: ChangesOptions): Promise<Found> {
  await using lab = new AsyncDisposableStack();
  const redis = lab.use(await startRedisServer());
  const admin = connect(lab, redis.url);
  await admin.call('ACL', 'SETUSER', ACCOUNT, 'on', 'nopass', '~*', '&*', '+@all');
  const gateways = await startGateways(lab, options.gateways, {
    HEADGATE_REDIS_URL: redis.url.replace('//', `//${ACCOUNT}:any@`),
    HEADGATE_STORE_TIMEOUT_MS: '10000',
  });
  const customers = names(CUSTOMERS, 'customer');
  await addKeys(gateways[0] as GatewayProcess, customers, 'pro');
  const traffic = gateways.map((gateway) =>
    keepAsking(gateway, options.perSecond, (i) => ({
      id: customers[i % CUSTOMERS] as string,
      address: addressOf(i % CUSTOMERS),
    })),
  );
  const told = await measure(gateways, options.rounds, 'told', async () => {});
  // The connections that listen are gone when the change is announced.
  const deaf = await measure(gateways, options.lossyRounds, 'deaf', () => killListeners(admin));
  await admin.call('ACL', 'SETUSER', ACCOUNT, 'resetchannels');
  await sleep(200);
  const untold = await measure(gateways, options.lossyRounds, 'untold', async () => {});
  const answers = (await Promise.all(traffic.map((each) => each.stop()))).flat();
  const others = count(answers, ({ seen }) => seen !== 'pro');
  return {
    rows: [
      ...rowsOf('messages arrive', told),
      ...rowsOf('listeners killed before', deaf),
      ...rowsOf('no right to listen', untold),
    ],
    wrong: unmet({
      'no other customer lost its plan': others === 0,
      'there was traffic': answers.length > 0,
    }),
    late: unmet({
      'every gateway knows a change within a second': mostOf(told) <= WITHIN_MS,
      'without the messages, within five seconds and the read': mostOf(untold) <= READ_WITHIN_MS,
      'if listeners are killed, within five seconds and the read': mostOf(deaf) <= READ_WITHIN_MS,
    }),
  };
}

async function killListeners(admin: Redis): Promise<void> {
  await admin.call('CLIENT', 'KILL', 'TYPE', 'PUBSUB');
}

async function measure(
  gateways: readonly GatewayProcess[],
  rounds: number,
  name: string,
  before: () => Promise<void>,
): Promise<Latencies> {
  const latencies: Latencies = { added: [], upgraded: [], blocked: [], unblocked: [], revoked: [] };
  for (let round = 0; round < rounds; round++) {
    const id = `${name}-${round}`;
    const asked = () => ({ id, address: addressOf(1_000 + (round % 1_000)) });
    // All of them remember that nobody has this key.
    await Promise.all(gateways.map((gateway) => msUntil(gateway, asked, 'unlisted')));
    const step = async (what: Step, wanted: Seen, act: (at: GatewayProcess) => Promise<void>) => {
      await before();
      const at = gateways[(round + latencies[what].length) % gateways.length] as GatewayProcess;
      const sinceMs = performance.now();
      const all = gateways.map((gateway) => msUntil(gateway, asked, wanted, sinceMs));
      await act(at);
      latencies[what].push(...(await Promise.all(all)));
    };
    await step('added', 'free', (at) => addKeys(at, [id], 'free'));
    await step('upgraded', 'pro', (at) => change(at, 'change', { id, plan: 'pro' }));
    await step('blocked', 'blocked', (at) => change(at, 'change', { id, blocked: true }));
    await step('unblocked', 'pro', (at) => change(at, 'change', { id, blocked: false }));
    await step('revoked', 'unlisted', (at) => change(at, 'revoke', { id }));
  }
  return latencies;
}

function mostOf(latencies: Latencies): number {
  return Math.max(...Object.values(latencies).flat());
}

function rowsOf(when: string, latencies: Latencies): Row[] {
  return Object.entries(latencies).map(([what, values]) => ({
    changes: `${what}, ${when}`,
    measured: String(values.length),
    median: ms(median(values)),
    maximum: ms(Math.max(...values)),
  }));
}
