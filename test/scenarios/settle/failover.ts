/**
 * A master of Redis is killed or cut off while requests are reserved and settled. What the new master has is consistent to the
 * unit, and differs from what clients were told by what the failover has lost.
 *
 * A log beside the token counter has an entry for each reservation that Redis has, and marks name the settlements.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listedKeyPartition } from '../../../src/gateway/core/identity/partition.ts';
import { waitUntil } from '../../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { lookAt } from '../../support/redis-node.ts';
import { startRedisSentinel, type TestRedisSentinel } from '../../support/redis-sentinel.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import {
  type Client,
  compare,
  type FailoverRun,
  policyFile,
  type Reserved,
  settle,
} from './failover-judge.ts';
import { any } from './reporting.ts';
import { readToken } from './token.ts';

export type Fault = 'killed' | 'cut off';

export interface FailoverOptions {
  readonly fault: Fault;
  readonly gateways: number;
  readonly clients: number;
  /** Before the fault, and after it. */
  readonly trafficMs: number;
}

const AT_ONCE = 3;

export async function runFailover(options: FailoverOptions): Promise<FailoverRun> {
  await using stack = new AsyncDisposableStack();
  const sentinel = stack.use(await startRedisSentinel());
  const clients = Array.from({ length: options.clients }, (_, i) => ({
    ...{ id: `client-${i}`, partition: listedKeyPartition(`client-${i}`), seen: [] as Reserved[] },
  }));
  const policies = join(temporaryFolder(stack), 'policies.yaml');
  writeFileSync(policies, policyFile(clients));
  const env = {
    HEADGATE_REDIS_URL: sentinel.url,
    HEADGATE_POLICIES: policies,
    HEADGATE_STORE_TIMEOUT_MS: '400',
    // A gateway that starts while Redis is slow signs with a key of its own until the gateways have agreed on one.
    HEADGATE_SETTLE_KEYS: 'the-settle-key-of-these-gateways-1',
  };
  const gateways = await Promise.all(
    Array.from({ length: options.gateways }, async () => stack.use(await startGatewayProcess(env))),
  );
  let isOver = false;
  const working = clients.flatMap((client) =>
    Array.from({ length: AT_ONCE }, async () => {
      while (!isOver) {
        await reserveAndSettle(client, gateways);
        await sleep(Math.random() * 20);
      }
    }),
  );
  await sleep(options.trafficMs);
  await fail(sentinel, options.fault);
  const admitted = () => clients.reduce((sum, { seen }) => sum + seen.length, 0);
  const before = admitted();
  await waitUntil('requests are admitted', async () => admitted() > before + 10 * clients.length);
  await sleep(options.trafficMs);
  isOver = true;
  await Promise.all(working);
  await waitUntil('no settlement waits', async () => {
    const texts = await Promise.all(
      gateways.map(async ({ opsUrl }) => (await call(opsUrl, '/metrics')).body),
    );
    return texts.every((text) => /^headgate_settlements_waiting 0$/m.test(text));
  });
  const { master } = await sentinel.roles();
  const redis = stack.adopt(lookAt(master), (open) => open.disconnect());
  return await compare(clients, gateways, redis);
}

async function fail(sentinel: TestRedisSentinel, fault: Fault): Promise<void> {
  const { master, replica } = await sentinel.roles();
  if (fault === 'killed') master.signal('SIGKILL');
  else await sentinel.cutOff(master);
  const look = lookAt(replica);
  await waitUntil('the replica is master', async () => {
    const role = (await look.role().catch(() => [])) as unknown[];
    return role[0] === 'master';
  });
  look.disconnect();
}

async function reserveAndSettle(
  client: Client,
  gateways: readonly GatewayProcess[],
): Promise<void> {
  const headers = { 'x-api-key': `the key of ${client.id}` };
  const answer = await call(any(gateways).url, '/envoy/', { headers }).catch(() => undefined);
  const text = answer?.headers['x-headgate-settle'];
  if (text === undefined) return;
  const { id, parts } = readToken(String(text));
  const momentMs = parts[0]?.momentMs ?? 0;
  const used = Math.floor(Math.random() * 140);
  const reserved: Reserved = { text: String(text), id, momentMs, used, isSettled: false };
  client.seen.push(reserved);
  if (Math.random() < 0.1) return;
  const verdict = await settle(reserved, any(gateways));
  reserved.isSettled = ['settled', 'repeated', 'waiting'].includes(verdict);
}
