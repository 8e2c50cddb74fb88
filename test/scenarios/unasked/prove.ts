/** Counts requests that Envoy lets through unchecked because the gateway did not answer in time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Outcome, percentile, startLoad } from '../../../tools/load/open-loop.ts';
import { printTable } from '../../../tools/table.ts';
import { startGatewayProcess } from '../../support/gateway.ts';
import { type RunningProxy, startEnvoy, startEnvoyGrpc } from '../../support/proxies.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { defineScenario } from '../scenario.ts';

const MARK = 'x-envoy-auth-failure-mode-allowed';
/** Requests are counted separately while programs and connections are new. */
const WARM_UP_MS = 5_000;

export const scenario = defineScenario({
  proves:
    'at half of its capacity, Envoy lets no request through unchecked, over HTTP and over gRPC',
  takes: '75 s',
  options: {
    rate: { default: 500, least: 1, help: 'requests per second' },
    seconds: { default: 30, least: 1, help: 'how long each of both runs' },
  },
  async prove({ rate, seconds }) {
    await using redis = await startRedisServer();
    await using gateway = await startGatewayProcess({
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_GRPC_PORT: '0',
    });
    await using application = await startUpstream();
    const behind = {
      application: application.port,
      headgate: gateway.port,
      grpc: gateway.grpcPort,
      hasShippedTimeouts: true,
    };
    await using http = await startEnvoy(behind);
    await using grpc = await startEnvoyGrpc(behind);
    const load = { application, perSecond: rate, seconds };
    const rows = [await measure('HTTP', http, load), await measure('gRPC', grpc, load)];
    printTable(rows);
    return rows
      .filter((row) => row.unchecked !== '0' || row.failed !== '0')
      .map((row) => `${row.way}: ${row.unchecked} passed unchecked, ${row.failed} failed`);
  },
});

interface MeasuredLoad {
  readonly application: Upstream;
  readonly perSecond: number;
  readonly seconds: number;
}

async function measure(
  way: string,
  proxy: RunningProxy,
  { application, perSecond, seconds }: MeasuredLoad,
) {
  const outcomes: Outcome[] = [];
  // The run before this one may have had some.
  const earlier = countUnchecked(application);
  const load = startLoad({
    url: proxy.url,
    perSecond,
    request: (i) => ({
      path: `/api/${i}`,
      headers: { 'x-forwarded-for': `10.0.${(i >> 8) & 255}.${i & 255}` },
    }),
    onOutcome: (outcome) => outcomes.push(outcome),
  });
  await sleep(WARM_UP_MS);
  const [atStart, warm] = [countUnchecked(application) - earlier, outcomes.length];
  await sleep(seconds * 1_000);
  await load.stop();
  const waitsMs = outcomes.slice(warm).map(({ tookMs }) => tookMs);
  return {
    way,
    requests: String(waitsMs.length),
    'unchecked at the start': String(atStart),
    unchecked: String(countUnchecked(application) - earlier - atStart),
    failed: String(outcomes.filter(({ status }) => ![200, 429].includes(status)).length),
    'p50 ms': percentile(waitsMs, 0.5).toFixed(1),
    'p99 ms': percentile(waitsMs, 0.99).toFixed(1),
    'slowest ms': percentile(waitsMs, 1).toFixed(0),
  };
}

function countUnchecked(application: Upstream): number {
  return application.seen.filter(({ headers }) => headers[MARK] !== undefined).length;
}
