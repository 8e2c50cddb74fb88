/** Ten thousand requests that no honest proxy sends: nothing falls over, hangs, or is let through by mistake. */
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

const REQUESTS = 10_000;
const SEED = 1;

let gateway: GatewayProcess;

beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway.stop());

describe('a volley', () => {
  let result: VolleyResult;

  beforeAll(async () => {
    result = await volley(gateway.url, hostileRequests(SEED, REQUESTS));
  });

  test('finds nothing that must not be', () => {
    expect(result.offences.map(offenceLine)).toEqual([]);
    expect(result.requests).toBe(REQUESTS);
  });
  test('is no mere noise: a good part of it is taken for requests, and another refused', () => {
    for (const status of ['200', '400', '404', '431'])
      expect(result.firstAnswers.get(status)).toBeGreaterThan(REQUESTS / 200);
  });
  test('leaves a gateway that answers', async () => {
    const headers = { 'x-headgate-client-ip': '198.51.100.1' };
    expect((await call(gateway.url, '/envoy/anything', { headers })).status).toBe(200);
    expect((await call(gateway.opsUrl, '/readyz')).body).toBe('{"status":"ok"}');
  });
  test('leaves a log of whole lines and no fault', () => {
    expect(gateway.output()).toContain('"event":"proxy_misconfigured"');
    expect(logFaults(gateway.output())).toEqual([]);
  });
});

describe('the judge sees', () => {
  test.each([
    [
      'an allow of anything',
      'allowed although unparsable',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    ],
    ['a server error', 'server error', 'HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n'],
    ['a body that is cut', 'ill-formed answer', 'HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\n{}'],
    ['a line of its own', 'ill-formed answer', 'HTTP/1.1 400 a\0b\r\nContent-Length: 0\r\n\r\n'],
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
  test('a connection of which only one side is closed', async () => {
    await using half = await startServer((socket) => socket.end());
    await using whole = await startServer((socket) => socket.destroySoon());
    expect(await isLetGoOf(half.url, 'silent', 200)).toBe(false);
    expect(await isLetGoOf(whole.url, 'silent', 200)).toBe(true);
  });
  test('that nobody is there', async () => {
    const server = await startServer(() => {});
    await server[Symbol.asyncDispose]();
    const { faults, requests } = await volley(server.url, hostileRequests(SEED, 1_000));
    expect(faults['not accepted']).toBe(requests);
  });
  test('lines in a log that should not be there', () => {
    const banner = '  try       curl\n';
    const event = '{"level":40,"event":"a"}\n';
    const fault = '{"level":50,"event":"a"}';
    expect(logFaults(banner + event)).toEqual([]);
    expect(logFaults(`${banner}${event}TypeError: no\n`)).toEqual(['TypeError: no']);
    expect(logFaults(`${banner}${event}${fault}\n`)).toEqual([fault]);
    expect(logFaults(`${banner}\u001b[31m${event}`)).toContain('raw control characters');
  });
});

/** What the gateway allows, and a look every second: five seconds are enough for all of it. */
describe('within five seconds', () => {
  const names = (Object.keys(LINGERERS) as LingererName[]).filter((name) => name !== 'silent');
  const ports = ['url', 'opsUrl'] as const;
  const slow = new Map<string, Promise<number>>();
  const letGo = new Map<string, Promise<boolean>>();
  let silent: Promise<number>;
  let silentIsLetGo: Promise<boolean>;
  let silentProxy: Promise<string>;

  beforeAll(async () => {
    for (const port of ports) {
      slow.set(port, slowLifeMs(gateway[port], 7_000));
      for (const name of names) letGo.set(port + name, isLetGoOf(gateway[port], name, 5_000));
    }
    silent = silentLifeMs(gateway.opsUrl, 7_000);
    silentIsLetGo = isLetGoOf(gateway.opsUrl, 'silent', 5_000);
    silentProxy = askAfter(gateway.url, 6_000);
    // All at once, and each test says what became of its own.
    await Promise.allSettled([...slow.values(), ...letGo.values(), silent, silentProxy]);
  });

  describe.each(ports)('%s closes', (port) => {
    test('a connection whose header comes byte by byte', async () => {
      expect(await slow.get(port)).toBeLessThan(5_000);
    });
    test.each(names)('for good, although the client holds on: %s', async (name) => {
      expect(await letGo.get(port + name)).toBe(true);
    });
  });

  test('a connection on which nothing comes is closed on the port for operators', async () => {
    expect(await silent).toBeLessThan(5_000);
    expect(await silentIsLetGo).toBe(true);
  });

  test('and kept on the port for proxies, some of which connect ahead of their use', async () => {
    expect(await silentProxy).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

/** The answer to the first request of a connection on which nothing came for so long; half of a second one follows. */
async function askAfter(url: string, silenceMs: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  await sleep(silenceMs);
  socket.write('GET /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n');
  const [answer] = await once(socket, 'data');
  // From its first byte on it is timed like any other.
  socket.write('GET /envoy/a HTTP/1.1\r\nHo');
  await once(socket, 'close');
  return answer;
}

interface Scenery extends AsyncDisposable {
  readonly url: string;
}

/** A server that does the same to every connection. */
async function startServer(treat: (socket: Socket) => void): Promise<Scenery> {
  const sockets = new Set<Socket>();
  // Only what it is told to do closes a connection.
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
