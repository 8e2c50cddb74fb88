/**
 * Counts the requests that Envoy let through unasked, over gRPC and over HTTP, at a given rate. The files let a request
 * pass if the gateway does not answer in time, so at half of its capacity there should be none.
 *
 *     node test/proofs/unasked.ts --rate 500 --seconds 30
 *
 * Exits with 1 if any request passed unasked or failed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { printTable } from '../../bench/support/table.ts';
import { startGateway } from '../support/gateway.ts';
import { type Outcome, percentile, startLoad } from '../support/open-loop.ts';
import { type RunningProxy, startEnvoy, startEnvoyGrpc } from '../support/proxies.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { startUpstream } from '../support/upstream.ts';

const MARK = 'x-envoy-auth-failure-mode-allowed';
/** What happens while programs and connections are new is another matter. */
const WARM_UP_MS = 5_000;

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '30' },
  },
});
const perSecond = Number(values.rate);

await using redis = await startRedisServer();
await using gateway = await startGateway({
  HEADGATE_REDIS_URL: redis.url,
  HEADGATE_GRPC_PORT: '0',
});
await using application = await startUpstream();
const behind = { application: application.port, headgate: gateway.port, grpc: gateway.grpcPort };
await using http = await startEnvoy(behind);
await using grpc = await startEnvoyGrpc(behind);

const rows = [await measure('HTTP', http), await measure('gRPC', grpc)];
printTable(rows);
process.exitCode = rows.every((row) => row.unasked === '0' && row.failed === '0') ? 0 : 1;

async function measure(way: string, proxy: RunningProxy) {
  const outcomes: Outcome[] = [];
  // The other way may have had some.
  const earlier = countUnasked();
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
  const [atStart, warm] = [countUnasked() - earlier, outcomes.length];
  await sleep(Number(values.seconds) * 1_000);
  await load.stop();
  const waitsMs = outcomes.slice(warm).map(({ tookMs }) => tookMs);
  return {
    way,
    requests: String(waitsMs.length),
    'unasked at the start': String(atStart),
    unasked: String(countUnasked() - earlier - atStart),
    failed: String(outcomes.filter(({ status }) => ![200, 429].includes(status)).length),
    'p50 ms': percentile(waitsMs, 0.5).toFixed(1),
    'p99 ms': percentile(waitsMs, 0.99).toFixed(1),
    'slowest ms': percentile(waitsMs, 1).toFixed(0),
  };
}

function countUnasked(): number {
  return application.seen.filter(({ headers }) => headers[MARK] !== undefined).length;
}
