/**
 * What does headgate add behind a real proxy, against an authorization server that does nothing?
 *
 * Envoy and NGINX, each at one fixed rate: half of what it can do with headgate on Redis, but at most 3,500/s and 8,000/s.
 * 10,000 clients behind a load balancer, which is the driver. `deadline`: 500/s through Envoy with its default time-out
 * of 20 ms; a request whose check is late is refused.
 */
import {
  cost,
  late,
  latency,
  memory,
  printOutcomes,
  proxyCost,
  refused,
  times,
  timesMedian,
} from './support/columns.ts';
import { createLab, type RedisServer, type Server } from './support/lab.ts';
import { closedLoop } from './support/load.ts';
import { openLoop } from './support/open-loop.ts';
import { OPTIONS, printTables } from './support/options.ts';
import {
  BALANCER,
  ENVOY,
  ENVOY_WITH_DEADLINE,
  NGINX,
  type ProxySetting,
  type ProxySettings,
} from './support/proxy-settings.ts';
import { type Contestant, interleave, type RoundOptions } from './support/rounds.ts';

const CLIENTS = 10_000;
const ENVOY_PER_SECOND = 3_500;
const NGINX_PER_SECOND = 8_000;
const DEADLINE_PER_SECOND = 500;
const POLICIES = `version: 1
identity: { trusted_proxies: [loopback, ${BALANCER}] }
default: { limits: [1000000/1h] }
`;
const RULES = `domain: edge
descriptors: [{ key: remote_address, rate_limit: { unit: hour, requests_per_unit: 1000000 } }]
`;

await using lab = createLab();
const application = await lab.server('rivals/empty-http.ts');
const rules = { HEADGATE_RATELIMIT_CONFIG: lab.folder({ 'edge.yaml': RULES }) };

await printTables({
  envoy: async () => print(ENVOY, await rateFor(ENVOY.gRPC, ENVOY_PER_SECOND)),
  nginx: async () => print(NGINX, await rateFor(NGINX.NGINX, NGINX_PER_SECOND)),
  deadline: () =>
    print(ENVOY_WITH_DEADLINE, OPTIONS.rate ?? DEADLINE_PER_SECOND, { rounds: 1, seconds: 10 }),
});

/** Half of what the proxy can do with headgate, if that is less than the most. */
async function rateFor(setting: ProxySetting | undefined, most: number): Promise<number> {
  if (OPTIONS.rate !== undefined || setting === undefined) return OPTIONS.rate ?? most;
  const redis = await lab.redis();
  const gateway = await lab.gateway(POLICIES, redis.url());
  const proxy = await behind(setting)(gateway);
  const load = closedLoop({ clients: 1 });
  await load(proxy, 1);
  const { requestsPerSecond } = await load(proxy, 2);
  await proxy.stop();
  await gateway.stop();
  return Math.min(most, Math.round(requestsPerSecond / 2));
}

/** Starts the proxy in front of a service; without one it sends no checks. */
function behind(setting: ProxySetting): (server: Server | undefined) => Promise<Server> {
  const { start, changes, withoutChecks = {}, hasShippedTimeouts = false } = setting;
  return (server) =>
    lab.proxy(
      start({
        application: application.port,
        headgate: server?.port ?? 1,
        grpc: server?.grpcPort ?? 1,
        hasShippedTimeouts,
        changes: server === undefined ? { ...changes, ...withoutChecks } : changes,
      }),
    );
}

async function print(
  settings: ProxySettings,
  requestsPerSecond: number,
  options: RoundOptions = { rounds: 2, seconds: 3 },
): Promise<void> {
  const redis = await lab.redis();
  const contestants = Object.entries(settings).flatMap(([name, setting], i) =>
    contestantsOf(`${name}: `, setting, { requestsPerSecond, redis, firstDatabase: i * 4 }),
  );
  const outcomes = await interleave(contestants, {
    ...options,
    loadIs: `${requestsPerSecond} requests/s`,
  });
  await checkClients(redis);
  const emptyHttp = outcomes.find(({ name }) => name.includes('empty'));
  printOutcomes(
    outcomes,
    latency,
    timesMedian('p99, times the first empty server', emptyHttp, 'p99Ms'),
    late,
    refused,
    cost,
    (outcome) => {
      const protocol = outcome.name.split(':')[0] ?? '';
      const empty = outcomes.find(({ name }) => name === `${protocol}: empty server`);
      return times('CPU, times empty server', empty, 'serverMicrosPerRequest')(outcome);
    },
    proxyCost,
    memory,
  );
}

interface Run {
  readonly requestsPerSecond: number;
  readonly redis: RedisServer;
  readonly firstDatabase: number;
}

function contestantsOf(prefix: string, setting: ProxySetting, run: Run): Contestant[] {
  const { redis, requestsPerSecond, firstDatabase } = run;
  const { empty, withoutChecks, refusedAs } = setting;
  const load = (mustCount: boolean) =>
    openLoop({
      ...{ requestsPerSecond, clients: CLIENTS, balancer: BALANCER, mustCount },
      ...(refusedAs !== undefined && { refusedAs }),
    });
  const proxy = behind(setting);
  const none: Contestant = { name: `${prefix}no checks`, proxy, load: load(false) };
  return [
    ...(withoutChecks === undefined ? [] : [none]),
    ...(empty === undefined
      ? []
      : [{ ...none, name: `${prefix}empty server`, start: () => lab.server(empty) }]),
    ...lab.variants.flatMap(({ name, gateway }, i): Contestant[] => {
      const url = redis.url(firstDatabase + i);
      const counting = { proxy, load: load(true) };
      return [
        {
          ...counting,
          name: `${prefix}${name}, memory`,
          start: () => gateway(POLICIES, undefined, rules),
        },
        {
          ...counting,
          name: `${prefix}${name}, Redis`,
          start: () => gateway(POLICIES, url, rules),
          redis,
        },
      ];
    }),
  ];
}

/** If a proxy reported the same address for all clients, their one log would be measured. */
async function checkClients(redis: RedisServer): Promise<void> {
  const info = await redis.client.info('keyspace');
  const counts = [...info.matchAll(/^db(\d+):keys=(\d+)/gm)];
  const few = counts.find(([, , keys]) => Number(keys) < CLIENTS / 10);
  // Envoy's rate limit filter counts the load balancer.
  if (few !== undefined && Number(few[1]) < 8) throw new Error(`too few clients: ${few[0]}`);
}
