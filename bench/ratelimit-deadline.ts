/**
 * How many calls of Envoy's rate limit filter does headgate answer too late? Envoy waits 20 ms by default;
 * deploy/ratelimit waits 100 ms.
 *
 * A closed loop through Envoy with `failure_mode_deny: true`, so that each request whose call was late gets 500. The
 * driver, Envoy, headgate and Redis share the cores of this machine.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startEnvoyRateLimit } from '../test/support/proxies.ts';
import { printTable } from '../tools/table.ts';
import { createLab, type Server } from './support/lab.ts';
import { machineLine } from './support/machine.ts';

const SECONDS = 8;
const CONNECTIONS = [4, 16, 64];
const DEADLINES = [20, 100];
const POLICIES = '{ version: 1, default: { limits: [1000000/1h] } }';
const RULES = `domain: edge
descriptors: [{ key: remote_address, rate_limit: { unit: hour, requests_per_unit: 1000000 } }]
`;

await using lab = createLab();
const redis = await lab.redis();
/** Envoy asks for no limits of routes that it answers itself. */
const application = await lab.server('rivals/empty-http.ts');
const settings = {
  HEADGATE_RATELIMIT_CONFIG: lab.folder({ 'edge.yaml': RULES }),
  HEADGATE_STORE_TIMEOUT_MS: '50',
};
const gateways = {
  memory: await lab.gateway(POLICIES, undefined, settings),
  Redis: await lab.gateway(POLICIES, redis.url(), settings),
};
const rows = [];
for (const [store, gateway] of Object.entries(gateways)) {
  for (const deadlineMs of DEADLINES) {
    const envoy = await lab.proxy(startEnvoyRateLimit(behind(gateway, deadlineMs)));
    for (const connections of CONNECTIONS) {
      const { requests, late, p50, p99 } = await load(envoy, connections);
      rows.push({
        store,
        'Envoy waits, ms': String(deadlineMs),
        'requests at a time': String(connections),
        requests: String(requests),
        'answered too late, %': ((100 * late) / requests).toFixed(3),
        'p50 of the request': p50,
        p99: p99,
      });
    }
  }
}
console.log(`${machineLine()}; ${SECONDS} s each.\n`);
printTable(rows);

function behind({ grpcPort: grpc }: Server, deadlineMs: number) {
  return {
    ...{ headgate: 0, grpc, application: application.port, hasShippedTimeouts: true },
    changes: {
      'timeout: 0.1s\n                      rate': `timeout: ${deadlineMs / 1_000}s\n                      rate`,
      'failure_mode_deny: false': 'failure_mode_deny: true',
    },
  };
}

async function load({ url }: Server, connections: number) {
  await run(url, connections, 1);
  const text = await run(url, connections, SECONDS);
  const found = (pattern: RegExp) => pattern.exec(text)?.[1] ?? '';
  const late = Number(found(/Non-2xx or 3xx responses: (\d+)/));
  const requests = Number(found(/(\d+) requests in/));
  return { requests, late, p50: found(/^ +50% +(\S+)/m), p99: found(/^ +99% +(\S+)/m) };
}

async function run(url: string, connections: number, seconds: number): Promise<string> {
  const args = ['--latency', '-t1', `-c${connections}`, `-d${seconds}s`, url];
  const { stdout } = await promisify(execFile)('wrk', args);
  return stdout;
}
