/** Clients who guess passwords, behind real proxies: nothing that they send buys them another try. */
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { listenLocally } from '../support/local-server.ts';
import { freePort } from '../support/ports.ts';
import {
  type Behind,
  type RunningProxy,
  startEnvoyForModels,
  startNginx,
} from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';

const FAILURES = 5;
const ALL = 20;
const TRIES = 25;
const limits = [
  { rate: `${FAILURES}/1h`, refund: { header: { 'x-login': 'ok' } } },
  { rate: `${ALL}/1d` },
];
const POLICIES = {
  version: 1,
  identity: { sources: ['ip'] },
  default: { limits: ['100000/1h'] },
  policies: [
    { name: 'login', match: { path: '/login' }, limits },
    { name: 'echo', match: { path: '/echo' }, limits },
  ],
};
/** The login tells by a header. */
const LOGGED = { '#additional_response_headers_to_log': 'additional_response_headers_to_log' };
const TOKEN = 'x-headgate-settle';

const ROWS = [
  { program: 'nginx', start: startNginx, settlesItself: true },
  {
    program: 'envoy',
    start: (behind: Behind) => startEnvoyForModels({ ...behind, changes: LOGGED }),
    settlesItself: false,
  },
] as const;
const programs = inject('programs');

describe.each(ROWS)('$program', ({ program, start, settlesItself }) => {
  const isHere = programs[program] !== undefined;
  const testHere = test.skipIf(!isHere);
  const stack = new AsyncDisposableStack();
  let gateway: Gateway;
  let proxy: RunningProxy;
  let addresses = 0;

  const settle = async (token: unknown, outcome: object): Promise<string> => {
    const { body } = await call(gateway.url, '/settle', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, ...outcome }),
    });
    return String((JSON.parse(body) as { result?: string }).result);
  };

  /** The password is always wrong. `/echo` sends back what the client chooses, as no application should. */
  async function answer({ url, headers }: IncomingMessage, response: ServerResponse) {
    const chosen = url === '/echo';
    const status = chosen ? Number(headers['x-status'] ?? 200) : 200;
    const login = chosen ? String(headers['x-login']) : 'failed';
    if (settlesItself) await settle(headers[TOKEN], { status, headers: { 'x-login': login } });
    response.writeHead(status, { 'X-Login': login }).end('try again');
  }

  beforeAll(async () => {
    if (!isHere) return;
    const grpc = await freePort();
    const env = { HEADGATE_POLICIES: temporaryFile(stack, JSON.stringify(POLICIES)) };
    gateway = stack.use(await startGateway({ ...env, HEADGATE_GRPC_PORT: String(grpc) }));
    const server = createServer((request, response) => void answer(request, response));
    server.keepAliveTimeout = 3_600_000;
    const { port } = stack.use(await listenLocally(server));
    proxy = stack.use(await start({ application: port, headgate: gateway.port, grpc }));
  });
  afterAll(() => stack.disposeAsync());

  /** From an address that no other attack has. */
  async function attack(path: string, headersOf: (i: number) => Record<string, string | string[]>) {
    const agent = new Agent({ localAddress: `127.0.7.${++addresses}`, keepAlive: true });
    let passed = 0;
    for (let i = 0; i < TRIES; i++) {
      const before = await settledCount();
      const { status } = await call(proxy.url, path, {
        method: 'POST',
        headers: headersOf(i),
        agent,
      });
      if (status === 429) continue;
      passed++;
      // Before the next try, so that all that can be given back is.
      await eventually(settledCount, (count) => count > before);
    }
    agent.destroy();
    return passed;
  }

  async function settledCount(): Promise<number> {
    const { body } = await call(gateway.opsUrl, '/metrics');
    const lines = body.matchAll(/^headgate_settlements_total\{.*\} (\d+)$/gm);
    return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** A token of somebody else, as one who reads the application's log has it. */
  async function tokenOfOther(i: number): Promise<string> {
    const headers = { 'x-headgate-client-ip': `203.0.113.${i}` };
    const { headers: found } = await call(gateway.url, '/envoy/login', { headers });
    return String(found[TOKEN]);
  }

  testHere('a token that the client sends buys no try, and settles for nobody', async () => {
    const others = await Promise.all([1, 2, 3].map(tokenOfOther));
    const [first = '', second = '', third = ''] = others;
    const kinds: readonly Record<string, string | string[]>[] = [
      { [TOKEN]: first },
      { [TOKEN]: [second, third] },
      { [TOKEN]: first.slice(0, -9) },
      { [TOKEN]: '' },
      { 'X-Headgate-Settle': third, connection: `keep-alive, ${TOKEN}` },
      { 'X-HEADGATE-SETTLE': 'garbage', 'x-envoy-settle': first, settle: first },
    ];
    for (const headers of kinds) {
      expect(await attack('/login', () => headers), JSON.stringify(headers)).toBe(FAILURES);
    }
    for (const each of others) expect(await settle(each, { status: 200 })).toBe('settled');
  });

  testHere('a header or a status in the request is no outcome', async () => {
    const headers = { 'x-login': 'ok', 'x-status': '204', location: '/account' };
    expect(await attack('/login', () => headers)).toBe(FAILURES);
  });

  testHere('where the application echoes what refunds, the second limit bounds it', async () => {
    expect(await attack('/echo', () => ({ 'x-login': 'ok' }))).toBe(ALL);
    expect(await attack('/echo', (i) => ({ 'x-status': String(200 + (i % 5)) }))).toBe(FAILURES);
  });
});
