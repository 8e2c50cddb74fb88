/**
 * What does headgate add behind a real proxy, against an authorization server that does nothing?
 *
 * Envoy and NGINX with the files of deploy/, at one fixed rate for each proxy: without checks, with checks by an empty
 * server, and with headgate, in memory and on Redis. 10,000 clients behind a load balancer, which is the driver.
 *
 * The files differ from the shipped ones only in this: ports, time-outs (ten seconds, so that no check is given up), the
 * load balancer is trusted, a failed check refuses its request, NGINX writes no access log, and the proxy itself answers
 * in place of an application.
 */
import { networkInterfaces } from 'node:os';
import {
  type Behind,
  type RunningProgram,
  startEnvoy,
  startEnvoyGrpc,
  startNginx,
} from '../test/support/proxies.ts';
import { printTable, spread } from '../tools/table.ts';
import { createLab, type Server } from './support/lab.ts';
import { openLoop } from './support/open-loop.ts';
import { all, type Contestant, interleave, type Outcome, timesThat } from './support/rounds.ts';

const CLIENTS = 10_000;
/** Requests a second. A slower machine gets others: `node bench/through-proxies.ts 1000 3000`. */
const [ENVOY_PER_SECOND = 2_500, NGINX_PER_SECOND = 8_000] = process.argv.slice(2).map(Number);
const BALANCER = addressOfThisMachine();
const ROOMY = `version: 1
identity: { trusted_proxies: [loopback, ${BALANCER}] }
default: { limits: [1000000/1h] }
`;

interface Proxy {
  readonly name: string;
  readonly empty: string;
  readonly requestsPerSecond: number;
  readonly start: (behind: Behind) => Promise<RunningProgram>;
  readonly changes: Readonly<Record<string, string>>;
  readonly withoutChecks: Readonly<Record<string, string>>;
}

const ENVOY = {
  requestsPerSecond: ENVOY_PER_SECOND,
  changes: {
    '- match: { prefix: / }\n                          route: { cluster: application }':
      '- match: { prefix: / }\n                          direct_response: { status: 200 }',
    '#   xff_num_trusted_hops: 1': 'xff_num_trusted_hops: 1',
    'failure_mode_allow: true': 'failure_mode_allow: false',
  },
  withoutChecks: {
    'direct_response: { status: 200 }': `direct_response: { status: 200 }
                          typed_per_filter_config:
                            headgate.ext_authz:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                              disabled: true`,
  },
};
const PROXIES: readonly Proxy[] = [
  { name: 'Envoy, HTTP', empty: 'rivals/empty-http.ts', start: startEnvoy, ...ENVOY },
  { name: 'Envoy, gRPC', empty: 'rivals/empty-http2.ts', start: startEnvoyGrpc, ...ENVOY },
  {
    name: 'NGINX',
    empty: 'rivals/empty-http.ts',
    start: startNginx,
    requestsPerSecond: NGINX_PER_SECOND,
    changes: {
      // `return` would answer before the check.
      'proxy_pass http://application;': 'empty_gif; access_log off;',
      '#set_real_ip_from 10.0.0.0/8; ': `set_real_ip_from ${BALANCER}; `,
      'error_page 500 502 503 504 =204 @headgate_unavailable;': '',
    },
    withoutChecks: {
      'auth_request /_headgate;': 'auth_request off; uninitialized_variable_warn off;',
    },
  },
];

await using lab = createLab();
const redis = await lab.redis();
const inMemory = await lab.gateway(ROOMY);
const contestants: Contestant[] = [];
for (const [database, proxy] of PROXIES.entries()) {
  const onRedis = await lab.gateway(ROOMY, redis.url(database));
  contestants.push(
    await contestant(proxy, 'no checks'),
    await contestant(proxy, 'empty server', { server: await lab.server(proxy.empty) }),
    await contestant(proxy, 'headgate, memory', { server: inMemory }),
    await contestant(proxy, 'headgate, Redis', { server: onRedis, redis }),
  );
}

const loadIs = `${ENVOY_PER_SECOND} requests/s through Envoy, ${NGINX_PER_SECOND} through NGINX`;
const outcomes = await interleave(contestants, { rounds: 4, seconds: 2, loadIs });
await checkClients();
printTable(outcomes.map(row));

async function contestant(
  proxy: Proxy,
  name: string,
  checks: Pick<Contestant, 'server' | 'redis'> = {},
): Promise<Contestant> {
  const { start, changes, withoutChecks, requestsPerSecond } = proxy;
  const { server } = checks;
  const ports = { application: 1, headgate: server?.port ?? 1, grpc: server?.grpcPort ?? 1 };
  const change = server === undefined ? { ...changes, ...withoutChecks } : changes;
  const running: Server = await lab.proxy(start({ ...ports, changes: change }));
  const mustCount = name.startsWith('headgate');
  return {
    name: `${proxy.name}: ${name}`,
    ...checks,
    proxy: running,
    load: openLoop({ requestsPerSecond, clients: CLIENTS, balancer: BALANCER, mustCount }),
  };
}

/** Of a network: clients with a loopback address may not say that they are a load balancer. */
function addressOfThisMachine(): string {
  const all = Object.values(networkInterfaces()).flatMap((each = []) => each);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this machine has only loopback addresses');
  return found.address;
}

/** If a proxy reported the same address for all clients, their one log would be measured. */
async function checkClients(): Promise<void> {
  const info = await redis.client.info('keyspace');
  const counts = [...info.matchAll(/^db\d+:keys=(\d+)/gm)].map(([, keys]) => Number(keys));
  if (counts.length < PROXIES.length || Math.min(...counts) < CLIENTS / 2) {
    throw new Error(`clients that were counted: ${counts}`);
  }
}

function row(outcome: Outcome, i: number) {
  const place = i % 4;
  const empty = place === 0 ? undefined : outcomes[i - place + 1];
  return {
    '': outcome.name,
    'service CPU us/request': empty ? spread(all(outcome, 'serverMicrosPerRequest')) : '',
    'Redis CPU us/request': outcome.usesRedis ? spread(all(outcome, 'redisMicrosPerRequest')) : '',
    'proxy CPU us/request': spread(all(outcome, 'proxyMicrosPerRequest')),
    'p50, ms': spread(all(outcome, 'p50Ms'), 2),
    'p99, ms': spread(all(outcome, 'p99Ms'), 2),
    'p99.9, ms': spread(all(outcome, 'p999Ms'), 2),
    'service CPU, times empty': empty ? timesThat(outcome, empty, 'serverMicrosPerRequest') : '',
    'p99, times empty': empty ? timesThat(outcome, empty, 'p99Ms') : '',
  };
}
