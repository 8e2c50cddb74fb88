/**
 * A rolling deployment: three gateways behind each proxy, one of which at a time is stopped by SIGTERM and started again,
 * under steady load.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { headerOf, type Outcome, percentile, startLoad } from '../../../tools/load/open-loop.ts';
import { eventually } from '../../support/eventually.ts';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { freePort } from '../../support/ports.ts';
import { type Behind, type RunningProxy, startEnvoy, startNginx } from '../../support/proxies.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { startUpstream, type Upstream } from '../../support/upstream.ts';

export interface RollingOptions {
  readonly durationMs: number;
  /** From one SIGTERM to the next. */
  readonly everyMs: number;
  readonly perSecond: number;
  /** Lets the proxies wait seconds for a gateway, for a busy machine. */
  readonly isPatient: boolean;
}

export interface RollingRun {
  readonly restarts: number;
  /** By proxy. */
  readonly clients: ReadonlyMap<string, ClientsView>;
}

/** What the clients of one proxy saw. */
interface ClientsView {
  readonly requests: number;
  /** Every answer other than the application's. */
  readonly failed: readonly string[];
  /** Requests that the proxy let through unchecked. */
  readonly bypassed: number;
  /** Decided without Redis. */
  readonly unmeasured: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

const GATEWAYS = 3;
/** No client reaches it. */
const LIMIT = 1_000_000;
const DRAIN_MS = 2_000;

const PATIENCE = '5s';

type Changes = (places: readonly Place[]) => Record<string, string>;

interface Place {
  readonly port: number;
  readonly opsPort: number;
}

/** Returns the expectations that were not met. */
export function whatIsWrong({ restarts, clients }: RollingRun): string[] {
  const wrong = restarts === 0 ? ['no gateway was restarted'] : [];
  for (const [proxy, { requests, failed, bypassed }] of clients) {
    if (requests === 0) wrong.push(`${proxy} had no clients`);
    if (failed.length > 0) wrong.push(`${proxy}: ${failed.length} failed, ${[...new Set(failed)]}`);
    if (bypassed > 0)
      wrong.push(`${proxy}: ${bypassed} passed unchecked, although gateways were running`);
  }
  return wrong;
}

export async function runRolling(options: RollingOptions): Promise<RollingRun> {
  await using cleanUp = new AsyncDisposableStack();
  const redis = cleanUp.use(await startRedisServer());
  const places = await Promise.all(
    Array.from({ length: GATEWAYS }, async () => ({
      port: await freePort(),
      opsPort: await freePort(),
    })),
  );
  const policies = temporaryFile(cleanUp, `{ version: 1, default: { limits: [${LIMIT}/1h] } }`);
  const start = ({ port, opsPort }: Place) =>
    startGatewayProcess({
      HEADGATE_POLICIES: policies,
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_PORT: String(port),
      HEADGATE_OPS_PORT: String(opsPort),
      HEADGATE_DRAIN_MS: String(DRAIN_MS),
      ...(options.isPatient && PATIENT),
    });
  const gateways = await Promise.all(places.map(start));
  cleanUp.defer(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGINT')));
  });
  const application = cleanUp.use(await startUpstream());
  const proxies = new Map<string, RunningProxy>([
    ['NGINX', cleanUp.use(await startNginx(behind(application, places, nginxChanges(options))))],
    ['Envoy', cleanUp.use(await startEnvoy(behind(application, places, envoyChanges(options))))],
  ]);
  for (const proxy of proxies.values()) await knowsEveryGateway(proxy);

  const outcomes = new Map([...proxies.keys()].map((name) => [name, [] as Outcome[]]));
  const loads = [...proxies].map(([name, proxy]) =>
    startLoad({
      url: proxy.url,
      perSecond: options.perSecond,
      maxConnections: 32,
      request: (i) => ({ path: `/${i}` }),
      onOutcome: (outcome) => outcomes.get(name)?.push(outcome),
    }),
  );
  const restarts = await restartInTurn(gateways, places, start, options);
  await Promise.all(loads.map((load) => load.stop()));
  const marked = application.seen.filter(isMarked).length;
  return {
    restarts,
    clients: new Map(
      [...outcomes].map(([name, seen]) => [name, viewOf(seen, name === 'Envoy' ? marked : 0)]),
    ),
  };
}

function behind(application: Upstream, places: readonly Place[], changes: Changes): Behind {
  const [first] = places as [Place];
  return { application: application.port, headgate: first.port, changes: changes(places) };
}

/** The changes that the comments of the file describe. */
function nginxChanges({ isPatient }: RollingOptions): Changes {
  const server = ({ port }: Place) => `server 127.0.0.1:${port} max_fails=1 fail_timeout=1s;`;
  return (places) => ({
    'server 127.0.0.1:8080 max_fails=0;': places.map(server).join('\n'),
    ...(isPatient && {
      'proxy_connect_timeout 50ms': `proxy_connect_timeout ${PATIENCE}`,
      'proxy_send_timeout 100ms': `proxy_send_timeout ${PATIENCE}`,
      'proxy_read_timeout 150ms': `proxy_read_timeout ${PATIENCE}`,
    }),
  });
}

function envoyChanges({ isPatient }: RollingOptions): Changes {
  const patience = {
    'connect_timeout: 0.1s': `connect_timeout: ${PATIENCE}`,
    'timeout: 0.2s': `timeout: ${PATIENCE}`,
  };
  return (places) => ({ ...healthCheckedEndpoints(places), ...(isPatient && patience) });
}

function healthCheckedEndpoints(places: readonly Place[]): Record<string, string> {
  const address = (port: number) =>
    `address: { socket_address: { address: 127.0.0.1, port_value: ${port} } }`;
  const endpoint = ({ port, opsPort }: Place) =>
    `              - endpoint: { ${address(port)}, health_check_config: { port_value: ${opsPort} } }`;
  return {
    [`              - endpoint: { ${address(8080)} }`]: places.map(endpoint).join('\n'),
    '#health_checks:': 'health_checks:',
    '#  - timeout: 0.5s': '  - timeout: 0.5s',
    '#    interval': '    interval',
    '#    no_traffic_interval': '    no_traffic_interval',
    '#    unhealthy_threshold': '    unhealthy_threshold',
    '#    healthy_threshold': '    healthy_threshold',
    '#    http_health_check': '    http_health_check',
  };
}

/** Waits until the proxy has found every gateway. Until then it may let requests through. */
async function knowsEveryGateway(proxy: RunningProxy): Promise<void> {
  for (let i = 0; i < 3 * GATEWAYS; i++) {
    await eventually(
      () => call(proxy.url, '/'),
      ({ headers }) => headers['x-ratelimit-limit'] === String(LIMIT),
    );
  }
}

async function restartInTurn(
  gateways: GatewayProcess[],
  places: readonly Place[],
  start: (place: Place) => Promise<GatewayProcess>,
  { durationMs, everyMs }: RollingOptions,
): Promise<number> {
  const endMs = performance.now() + durationMs;
  let restarts = 0;
  for (; performance.now() + everyMs < endMs; restarts++) {
    const turn = restarts % GATEWAYS;
    const nextMs = performance.now() + everyMs;
    const gateway = gateways[turn] as GatewayProcess;
    gateway.signal('SIGTERM');
    const code = await gateway.exited();
    if (code !== 0) throw new Error(`a gateway ended with ${code}:\n${gateway.output()}`);
    gateways[turn] = await start(places[turn] as Place);
    await sleep(Math.max(0, nextMs - performance.now()));
  }
  return restarts;
}

/** Whether Envoy told the application that it could not check the request. */
function isMarked({ headers }: Upstream['seen'][number]): boolean {
  return headers['x-envoy-auth-failure-mode-allowed'] !== undefined;
}

function viewOf(outcomes: readonly Outcome[], marked: number): ClientsView {
  const waitsMs = outcomes.map(({ tookMs }) => tookMs);
  const bypassed = outcomes.filter((each) => headerOf(each, 'x-ratelimit-bypass') !== undefined);
  return {
    requests: outcomes.length,
    failed: outcomes
      .filter(({ status }) => status !== 200)
      .map(({ status, error }) => error ?? String(status)),
    bypassed: bypassed.length + marked,
    unmeasured: outcomes.filter((each) => headerOf(each, 'x-ratelimit-mode') !== undefined).length,
    p99Ms: percentile(waitsMs, 0.99),
    slowestMs: percentile(waitsMs, 1),
  };
}
