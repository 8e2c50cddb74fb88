/**
 * Sends requests at the moment when a proxy's idle time ends, and on connections that were idle for longer than any proxy
 * keeps them. It shows that no proxy sends a request on a connection that the gateway is closing.
 *
 * A relay between proxy and gateway records which side closed each connection.
 */
import { once } from 'node:events';
import { Agent, createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { freePort } from '../../support/ports.ts';
import { type RunningProxy, startCaddy, startEnvoy, startNginx } from '../../support/proxies.ts';
import { temporaryFile } from '../../support/temporary.ts';

/** The idle time in the copy of the shipped file. */
export const IDLE_MS = 1_000;
/** Requests are sent up to this much before and after the idle time. */
export const EDGE_MS = 50;

const HOUR_MS = 3_600_000;
/** How long proxies keep an idle connection by default. */
export const DEFAULT_IDLE_MS: Readonly<Record<string, number>> = {
  'NGINX, keepalive_timeout': 60_000,
  'AWS ALB': 60_000,
  'Go, IdleConnTimeout': 90_000,
  'Caddy, keepalive': 120_000,
  'Envoy, idle_timeout': HOUR_MS,
};
export const LONGEST_IDLE_MS = Math.max(...Object.values(DEFAULT_IDLE_MS));
/** Fewer than the idle connections that the shipped files allow. */
const AT_ONCE = 16;
/** On a busy machine answers are slow. This is not about latency. */
const PATIENCE = '5s';

interface ProxyUnderTest {
  readonly start: (ports: Ports, idleMs: number) => Promise<RunningProxy>;
  /** A line of its output after a connection to the gateway has broken. */
  readonly reset: RegExp;
}

interface Ports {
  readonly application: number;
  readonly headgate: number;
  readonly admin: number;
}

export const PROXIES = {
  nginx: {
    start: (ports, idleMs) =>
      startNginx({
        ...ports,
        changes: {
          'keepalive 64;': `keepalive 64; keepalive_timeout ${idleMs}ms;`,
          'proxy_connect_timeout 50ms': `proxy_connect_timeout ${PATIENCE}`,
          'proxy_send_timeout 100ms': `proxy_send_timeout ${PATIENCE}`,
          'proxy_read_timeout 150ms': `proxy_read_timeout ${PATIENCE}`,
        },
      }),
    reset: /reset by peer|prematurely closed/,
  },
  envoy: {
    start: ({ admin, ...ports }, idleMs) =>
      startEnvoy({
        ...ports,
        changes: {
          'idle_timeout: 60s': `idle_timeout: ${idleMs / 1_000}s`,
          'connect_timeout: 0.1s': `connect_timeout: ${PATIENCE}`,
          'timeout: 0.2s': `timeout: ${PATIENCE}`,
          static_resources: `admin: { address: { socket_address: { address: 127.0.0.1, port_value: ${admin} } } }\nstatic_resources`,
        },
      }),
    // Not in its log, but in its statistics.
    reset:
      /^cluster\.headgate\.(upstream_cx_destroy_remote_with_active_rq|upstream_rq_rx_reset): [^0]/,
  },
  caddy: {
    start: (ports, idleMs) =>
      startCaddy({
        ...ports,
        changes: {
          'keepalive_idle_conns_per_host 64': `keepalive_idle_conns_per_host 64\n\t\t\tkeepalive ${idleMs}ms`,
          'dial_timeout 50ms': `dial_timeout ${PATIENCE}`,
          'response_header_timeout 150ms': `response_header_timeout ${PATIENCE}`,
        },
      }),
    reset: /reset by peer|EOF|broken pipe|Unsolicited response/,
  },
} as const satisfies Record<string, ProxyUnderTest>;

export type ProxyName = keyof typeof PROXIES;

export interface RelaySums {
  readonly connections: number;
  /** Requests that found a connection that had been used before. */
  readonly reused: number;
  /** Connections that never had a request. */
  readonly unused: number;
  readonly closedByGateway: number;
}

export interface EdgeRun extends RelaySums {
  readonly requests: number;
  readonly failed: number;
  /** Lines of the proxy about broken connections. */
  readonly resets: readonly string[];
  /** Expectations that were not met. */
  readonly wrong: readonly string[];
}

/** Sends volleys, each a little later after the one before: from just before to just after the idle time. */
export async function runEdge(name: ProxyName, volleys: number): Promise<EdgeRun> {
  await using lab = await startLab(name, IDLE_MS);
  let failed = 0;
  for (let volley = 0; volley < volleys; volley++) {
    failed += await failuresAmong(AT_ONCE, lab.ask);
    await sleep(IDLE_MS + offsetMs(volley, volleys));
  }
  const resets = (await lab.told()).split('\n').filter((line) => PROXIES[name].reset.test(line));
  const run = { requests: volleys * AT_ONCE, failed, ...lab.relay.sums(), resets };
  return { ...run, wrong: whatIsWrong(run) };
}

/** Shorter than the lull between two bursts, so that every burst needs new connections. */
const SHORT_IDLE_MS = 50;
const BURST_MS = 6;
const MOST_IN_BURST = 60;

/** Counts connections that a proxy opens for a request, and no longer needs once they are open. */
export async function runBursts(name: ProxyName, bursts: number): Promise<RelaySums> {
  await using lab = await startLab(name, SHORT_IDLE_MS);
  for (let burst = 0; burst < bursts; burst++) {
    await failuresAmong(1 + (burst % MOST_IN_BURST), async () => {
      await sleep(Math.random() * BURST_MS);
      return lab.ask();
    });
    await sleep(2 * SHORT_IDLE_MS);
  }
  return lab.relay.sums();
}

interface Lab extends AsyncDisposable {
  readonly relay: Relay;
  /** Whether both the application and the gateway answered. */
  ask(): Promise<boolean>;
  /** The output or the statistics of the proxy. */
  told(): Promise<string>;
}

async function startLab(name: ProxyName, idleMs: number): Promise<Lab> {
  await using unlessItStarts = new AsyncDisposableStack();
  const gateway = unlessItStarts.use(await startUnlimitedGateway());
  const relay = unlessItStarts.use(await startRelay(gateway.port));
  const application = unlessItStarts.use(await startApplication());
  const admin = await freePort();
  const ports = { application: application.port, headgate: relay.port, admin };
  const proxy = unlessItStarts.use(await PROXIES[name].start(ports, idleMs));
  // This is not about the connections of clients.
  const agent = new Agent({ keepAlive: false });
  const started = unlessItStarts.move();
  return {
    relay,
    ask: () =>
      call(proxy.url, '/', { agent }).then(
        ({ status, headers }) => status === 200 && headers['x-ratelimit-limit'] !== undefined,
        () => false,
      ),
    told: async () => (name === 'envoy' ? statistics(admin) : proxy.output()),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

async function failuresAmong(times: number, ask: () => Promise<boolean>): Promise<number> {
  const answers = await Promise.all(Array.from({ length: times }, ask));
  return answers.filter((isAnswered) => !isAnswered).length;
}

/** Evenly from one end to the other. */
function offsetMs(turn: number, turns: number): number {
  return EDGE_MS * ((2 * turn) / Math.max(1, turns - 1) - 1);
}

async function statistics(admin: number): Promise<string> {
  return (await call(`http://127.0.0.1:${admin}`, '/stats?filter=cluster.headgate')).body;
}

/** Whether some requests came before the idle time and some after it. On a busy machine all may be late. */
export function meetsBothSides({ connections, reused }: EdgeRun): boolean {
  return reused > 0 && connections > AT_ONCE;
}

function whatIsWrong(run: Omit<EdgeRun, 'wrong'>): string[] {
  const wrong: string[] = [];
  if (run.failed > 0) wrong.push(`every request is answered: ${run.failed} are not`);
  if (run.closedByGateway > 0)
    wrong.push(`the proxy closes first: ${run.closedByGateway} times the gateway did`);
  if (run.resets.length > 0) wrong.push(`no connection breaks: ${run.resets[0]}`);
  return wrong;
}

export async function startUnlimitedGateway(): Promise<GatewayProcess> {
  await using unlessItStarts = new AsyncDisposableStack();
  const policies = temporaryFile(
    unlessItStarts,
    '{ version: 1, default: { limits: [1000000/1h] } }',
  );
  const gateway = unlessItStarts.use(await startGatewayProcess({ HEADGATE_POLICIES: policies }));
  const started = unlessItStarts.move();
  return { ...gateway, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

interface Server extends AsyncDisposable {
  readonly port: number;
}

/** It never closes an idle connection. */
async function startApplication(): Promise<Server> {
  const server = createHttpServer({ keepAliveTimeout: HOUR_MS }, (_, response) => {
    response.end('the application');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Relayed {
  requests: number;
  closedBy: 'proxy' | 'gateway' | undefined;
}

interface Relay extends Server {
  sums(): RelaySums;
}

/** Forwards bytes in both directions, and closes one side after the other. */
async function startRelay(gatewayPort: number): Promise<Relay> {
  const all: Relayed[] = [];
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (fromProxy) => {
    const relayed: Relayed = { requests: 0, closedBy: undefined };
    all.push(relayed);
    const toGateway = connect({
      port: gatewayPort,
      host: '127.0.0.1',
      allowHalfOpen: true,
      noDelay: true,
    });
    const sides = [
      [fromProxy, toGateway, 'proxy'],
      [toGateway, fromProxy, 'gateway'],
    ] as const;
    for (const [socket, other, name] of sides) {
      open.add(socket);
      socket.on('data', (bytes) => {
        // Each request has no body, and is small enough to come in one piece.
        if (name === 'proxy') relayed.requests++;
        other.write(bytes);
      });
      socket.on('end', () => {
        relayed.closedBy ??= name;
        other.end();
      });
      socket.on('error', () => {
        relayed.closedBy ??= name;
        other.destroy();
      });
      socket.on('close', () => open.delete(socket));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    sums: () => ({
      connections: all.length,
      reused: all.reduce((sum, { requests }) => sum + Math.max(0, requests - 1), 0),
      unused: all.filter(({ requests }) => requests === 0).length,
      closedByGateway: all.filter(({ closedBy }) => closedBy === 'gateway').length,
    }),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface IdleRun {
  readonly idleMs: number;
  readonly connections: number;
  /** Connections that were answered again after the idle time. */
  readonly answered: number;
  /** How long the gateway says that it keeps them. */
  readonly keptMs: number;
}

const REQUEST = 'GET /envoy/ HTTP/1.1\r\nHost: shop.example\r\n\r\n';

/** Connections that are used, left alone, and used again. */
export async function runIdle(
  gateway: GatewayProcess,
  idleMs: number,
  connections: number,
): Promise<IdleRun> {
  const answers = await Promise.all(
    Array.from({ length: connections }, () => usedAgain(gateway.port, idleMs)),
  );
  return {
    idleMs,
    connections,
    answered: answers.filter(([, last]) => last.startsWith('HTTP/1.1 200 ')).length,
    keptMs: Math.min(...answers.map(([first]) => keptMs(first))),
  };
}

/** The first and the last answer. A missing answer is empty. */
async function usedAgain(port: number, idleMs: number): Promise<[string, string]> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
  // After a reset the answer is missing.
  socket.on('error', () => {});
  await once(socket, 'connect');
  const first = await exchange(socket);
  await sleep(idleMs);
  const last = await exchange(socket);
  socket.destroy();
  return [first, last];
}

async function exchange(socket: Socket): Promise<string> {
  if (socket.destroyed) return '';
  const heard = Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => ['']);
  socket.write(REQUEST);
  return String((await heard)[0] ?? '');
}

function keptMs(answer: string): number {
  return Number(/\r\nkeep-alive: timeout=(\d+)\r\n/i.exec(answer)?.[1] ?? 0) * 1_000;
}
