/** Thousands of requests that no honest proxy sends: the short form of the scenario. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { hostileRequests } from './requests.ts';
import {
  isLetGoOf,
  LINGERERS,
  type LingererName,
  logFaults,
  offenceLine,
  silentLifeMs,
  slowLifeMs,
  type VolleyResult,
  volley,
} from './run.ts';

const REQUESTS = 3_000;
const SEED = 1;
/** The gateway closes such connections within five seconds. A busy machine is later; the long form holds to the five. */
const CLOSED_WITHIN_MS = 30_000;
/** Longer than a connection may take to send a request once it has begun. */
const SILENCE_MS = 6_000;
const PORTS = ['url', 'opsUrl'] as const;
const NAMES = (Object.keys(LINGERERS) as LingererName[]).filter((name) => name !== 'silent');

let gateway: GatewayProcess;
let lingering: Lingering;

beforeAll(async () => {
  gateway = await startGatewayProcess();
  // These connections mostly wait, so they are open while the other tests run.
  lingering = startLingering(gateway);
});
afterAll(() => gateway.stop());

describe('a volley', () => {
  let result: VolleyResult;

  beforeAll(async () => {
    const options = { patienceMs: CLOSED_WITHIN_MS };
    result = await volley(gateway.url, hostileRequests(SEED, REQUESTS), options);
  });

  test('gets no wrong answer, no error, and leaves no connection open', () => {
    expect(result.offences.map(offenceLine)).toEqual([]);
    expect(result.requests).toBe(REQUESTS);
  });
  test('has requests that the gateway reads and others that it refuses', () => {
    for (const status of ['200', '400', '404', '431'])
      expect(result.firstAnswers.get(status)).toBeGreaterThan(REQUESTS / 200);
  });
  test('leaves a gateway that answers', async () => {
    const headers = { 'x-headgate-client-ip': '198.51.100.1' };
    expect((await call(gateway.url, '/envoy/anything', { headers })).status).toBe(200);
    expect((await call(gateway.opsUrl, '/readyz')).body).toBe('{"status":"ok"}');
  });
  test('leaves a log of whole lines without errors', () => {
    expect(gateway.output()).toContain('"event":"proxy_misconfigured"');
    expect(logFaults(gateway.output())).toEqual([]);
  });
});

describe('the judge notices', () => {
  test.each([
    [
      'an allow of an unparsable request',
      'allowed although unparsable',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    ],
    ['a server error', 'server error', 'HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n'],
    [
      'a body that is cut off',
      'ill-formed answer',
      'HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\n{}',
    ],
    [
      'a malformed status line',
      'ill-formed answer',
      'HTTP/1.1 400 a\0b\r\nContent-Length: 0\r\n\r\n',
    ],
  ] as const)('%s', async (_, fault, answer) => {
    await using server = await startServer((socket) => socket.end(answer));
    const { faults } = await volley(server.url, hostileRequests(SEED, 300));
    expect(faults[fault]).toBeGreaterThan(50);
    expect(faults.hang).toBe(0);
  });
  test('a connection that stays open', async () => {
    await using server = await startServer(() => {});
    const { faults } = await volley(server.url, hostileRequests(SEED, 300), { patienceMs: 100 });
    expect(faults.hang).toBeGreaterThan(200);
  });
  test('a connection that is closed on one side only', async () => {
    await using half = await startServer((socket) => socket.end());
    await using whole = await startServer((socket) => socket.destroySoon());
    expect(await isLetGoOf(half.url, 'silent', 200)).toBe(false);
    expect(await isLetGoOf(whole.url, 'silent', 200)).toBe(true);
  });
  test('a port without a server', async () => {
    const server = await startServer(() => {});
    await server[Symbol.asyncDispose]();
    const { faults, requests } = await volley(server.url, hostileRequests(SEED, 1_000));
    expect(faults['not accepted']).toBe(requests);
  });
  test('lines of a log that are errors or no events', () => {
    const banner = '  try       curl\n';
    const event = '{"level":40,"event":"a"}\n';
    const fault = '{"level":50,"event":"a"}';
    expect(logFaults(banner + event)).toEqual([]);
    expect(logFaults(`${banner}${event}TypeError: no\n`)).toEqual(['TypeError: no']);
    expect(logFaults(`${banner}${event}${fault}\n`)).toEqual([fault]);
    expect(logFaults(`${banner}\u001b[31m${event}`)).toContain('raw control characters');
  });
});

describe('the gateway', () => {
  describe.each(PORTS)('%s', (port) => {
    test('closes a connection whose header comes byte by byte', async () => {
      expect(await lingering.slow.get(port)).toBeLessThan(CLOSED_WITHIN_MS);
    });
    test.each(NAMES)('closes both sides of a connection that holds on: %s', async (name) => {
      expect(await lingering.closed.get(port + name)).toBe(true);
    });
  });

  test('closes a connection to the ops port that sends nothing', async () => {
    expect(await lingering.silent).toBeLessThan(CLOSED_WITHIN_MS);
    expect(await lingering.silentIsClosed).toBe(true);
  });

  test('keeps a connection to the check port that sends nothing, because some proxies connect in advance', async () => {
    expect(await lingering.silentProxy).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

interface Lingering {
  /** How long each port keeps a connection whose header comes byte by byte. */
  readonly slow: ReadonlyMap<string, Promise<number>>;
  /** Whether each port closes each kind of connection. */
  readonly closed: ReadonlyMap<string, Promise<boolean>>;
  readonly silent: Promise<number>;
  readonly silentIsClosed: Promise<boolean>;
  /** The answer to a request after a long silence on the check port. */
  readonly silentProxy: Promise<string>;
}

/** Opens all of these connections at once. Each test waits for its own. */
function startLingering(server: GatewayProcess): Lingering {
  const slow = new Map<string, Promise<number>>();
  const closed = new Map<string, Promise<boolean>>();
  for (const port of PORTS) {
    slow.set(port, slowLifeMs(server[port], CLOSED_WITHIN_MS));
    for (const name of NAMES)
      closed.set(port + name, isLetGoOf(server[port], name, CLOSED_WITHIN_MS));
  }
  const all = {
    slow,
    closed,
    silent: silentLifeMs(server.opsUrl, CLOSED_WITHIN_MS),
    silentIsClosed: isLetGoOf(server.opsUrl, 'silent', CLOSED_WITHIN_MS),
    silentProxy: askAfter(server.url, SILENCE_MS),
  };
  // A rejection fails the test that waits for it.
  void Promise.allSettled([...slow.values(), ...closed.values()]);
  void Promise.allSettled([all.silent, all.silentIsClosed, all.silentProxy]);
  return all;
}

/** Sends a request after a silence, then half of another one. Resolves to the answer once the gateway has closed. */
async function askAfter(url: string, silenceMs: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  await sleep(silenceMs);
  socket.write('GET /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(socket, 'data');
  // The gateway closes the connection because the rest never comes.
  socket.write('GET /envoy/a HTTP/1.1\r\nHo');
  await once(socket, 'close');
  return answer;
}

interface TreatingServer extends AsyncDisposable {
  readonly url: string;
}

/** A server that treats every connection in the same way. */
async function startServer(treat: (socket: Socket) => void): Promise<TreatingServer> {
  const sockets = new Set<Socket>();
  // Only `treat` closes a connection.
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    socket.resume();
    treat(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
