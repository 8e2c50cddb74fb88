/**
 * How long does a request wait at half of what the gateway can do, with 0, 1 and 5 ms added to the way to Redis? And how
 * does its latency compare with a gateway that calls Redis for each request?
 *
 * The driver, the proxy that delays, the gateway and Redis share the cores of this machine, and disturb each other.
 */
import { printTable, spread } from '../tools/table.ts';
import { createLab, type Server } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { openLoop } from './support/open-loop.ts';
import { all, type Contestant, interleave, type Outcome } from './support/rounds.ts';

const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const CLIENTS = 10_000;
const SHIPPED = { HEADGATE_STORE_TIMEOUT_MS: '50' };

async function halfOfCapacity(server: Server): Promise<number> {
  const load = closedLoop({ clients: CLIENTS });
  await load(server, 1);
  const { requestsPerSecond } = await load(server, 1);
  return Math.round(requestsPerSecond / 2);
}

await using lab = createLab();
const redis = await lab.redis();
const startGateway = (redisUrl: string) => lab.gateway(POLICIES, redisUrl, SHIPPED);
const startDelayed = async (addedMs: number) => {
  const proxy = await lab.server('support/delay-proxy.ts', String(redis.port), String(addedMs));
  return startGateway(`redis://127.0.0.1:${proxy.port}/0`);
};

const near = await startDelayed(0);
const delayed = [
  { name: 'headgate, 0 ms added', server: near },
  { name: 'headgate, 1 ms added', server: await startDelayed(1) },
  { name: 'headgate, 5 ms added', server: await startDelayed(5) },
];
const direct = await startGateway(redis.url(0));
const zset = await lab.server('rivals/zset-server.ts', redis.url(1));
const compared = [
  { name: 'empty 200 (hook)', server: await lab.server('rivals/empty-hook.ts') },
  { name: 'ZSET script, one call each', server: zset },
  { name: 'headgate, calls shared', server: direct },
];

// What the delaying proxy costs this machine is part of what it can do.
await measure(delayed, await halfOfCapacity(near));
// Above what one of them can do, its queue would be measured.
await measure(compared, Math.min(await halfOfCapacity(direct), await halfOfCapacity(zset)));

async function measure(
  servers: readonly Pick<Contestant, 'name' | 'server'>[],
  requestsPerSecond: number,
): Promise<void> {
  const load = openLoop({ requestsPerSecond, clients: CLIENTS });
  const contestants = servers.map((each) => ({ ...each, load }));
  const loadIs = `${requestsPerSecond} requests/s`;
  const outcomes = await interleave(contestants, { rounds: 6, loadIs });
  printTable(outcomes.map(row));
  console.log();
}

function row(outcome: Outcome) {
  const unmeasured = all(outcome, 'unmeasured').reduce((sum, count) => sum + count, 0);
  return {
    server: outcome.name,
    'p50, ms': spread(all(outcome, 'p50Ms'), 2),
    'p90, ms': spread(all(outcome, 'p90Ms'), 2),
    'p99, ms': spread(all(outcome, 'p99Ms'), 2),
    'max, ms': Math.max(...all(outcome, 'maxMs')).toFixed(1),
    'not measured': String(unmeasured),
  };
}
