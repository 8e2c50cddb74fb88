/** Which server a connection reaches, with which settings, and what each says while the gateway stops. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProxyServers } from '../../../../src/gateway/app/proxy-servers.ts';
import { rateLimitService } from '../../../../src/gateway/app/ratelimit/rate-limit-service.ts';
import type { RateLimits } from '../../../../src/gateway/app/ratelimit/rate-limits.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';
import { EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import { Arrivals, type PendingCheck } from '../../../../src/gateway/server/handler.ts';
import type { PortName } from '../../../../src/gateway/server/proxy-ports.ts';
import type { Settle } from '../../../../src/gateway/settlement/channel.ts';
import { accessLog, STREAM_ACCESS_LOGS } from '../../../support/access-logs.ts';
import {
  CHECK_MESSAGE,
  frame,
  openSession,
  openStream,
  statusOf,
} from '../../../support/grpc-frames.ts';
import { listenLocally } from '../../../support/local-server.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

const SECRET = 'a-secret-of-sixteen';
const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;
const RATE_LIMITS = {
  HEADGATE_RATELIMIT_CONFIG: '/rules.yaml',
  HEADGATE_RATELIMIT_HTTP_PORT: '0',
};
const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

let started: AsyncDisposableStack;
let checks: string[];
let isHealthy: boolean;
beforeEach(() => {
  started = new AsyncDisposableStack();
  checks = [];
  isHealthy = true;
});
afterEach(() => started.disposeAsync());

async function start(settings: NodeJS.ProcessEnv, hasRateLimits = true, settle?: Settle) {
  const observed = observedTelemetry();
  const service = rateLimitService({
    answer: () => expect.unreachable(),
    handle: (pending) => void pending.fail(new Error('fault')),
  });
  const rateLimits = { service, isHealthy: () => isHealthy } as unknown as RateLimits;
  const servers = createProxyServers({
    arrivals: new Arrivals(() => {}),
    environment: readEnvironment({ HEADGATE_PORT: '0', HEADGATE_GRPC_PORT: '0', ...settings }),
    handleCheck(pending: PendingCheck) {
      checks.push(`${pending.dialect} ${pending.parse().target}`);
      pending.answer(EXEMPT, STYLE);
    },
    telemetry: observed.telemetry,
    rateLimits: hasRateLimits ? rateLimits : undefined,
    settle,
  });
  await servers.ready();
  const taken: Socket[] = [];
  const portOf = async (name: PortName) => {
    const listener = createServer((connection) => {
      taken.push(connection);
      servers.take(name, connection);
    });
    return started.use(await listenLocally(listener)).port;
  };
  const ports = {
    check: await portOf('check'),
    grpc: await portOf('grpc'),
    json: await portOf('json'),
  };
  started.defer(() => servers.close(0));
  const session = await openSession(ports.grpc);
  started.defer(() => session.destroy());
  return {
    ...{ ...observed, servers, ports },
    http: async (port: 'check' | 'json', path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${ports[port]}${path}`, init),
    grpc: (path: string, message: Uint8Array, headers = {}) => {
      const stream = openStream(session, { ':path': path, ...headers });
      stream.end(frame(message));
      return statusOf(stream);
    },
  };
}

const CHECK = '/envoy.service.auth.v3.Authorization/Check';
const closing = { headers: { connection: 'close' } };

describe('a connection', () => {
  test('reaches the server of its port', async () => {
    const { http, grpc } = await start(RATE_LIMITS);
    expect((await http('check', '/envoy/a', closing)).status).toBe(200);
    expect(await grpc(CHECK, CHECK_MESSAGE)).toBe('grpc 0');
    expect(checks).toEqual(['envoy /a', 'envoy-grpc /a']);
    expect((await http('json', '/healthcheck', closing)).status).toBe(200);
    expect((await http('json', '/envoy/a', closing)).status).toBe(404);
    expect((await http('check', '/healthcheck', closing)).status).toBe(404);
  });

  test('of the rate limit service is answered only if there is one', async () => {
    const { grpc, http } = await start(RATE_LIMITS);
    // The stand-in fails, but it was reached.
    expect(await grpc(SHOULD_RATE_LIMIT, Buffer.alloc(0))).toBe('grpc 13');
    expect((await http('json', '/json', { method: 'POST', ...closing })).status).toBe(500);
    const without = await start({}, false);
    expect(await without.grpc(SHOULD_RATE_LIMIT, Buffer.alloc(0))).toBe('grpc 12');
  });
});

test('each port refuses callers without the secret, and counts them', async () => {
  const { http, grpc, metrics } = await start({ ...RATE_LIMITS, HEADGATE_PROXY_SECRET: SECRET });
  expect((await http('check', '/envoy/a', closing)).status).toBe(403);
  expect((await http('json', '/json', { method: 'POST', ...closing })).status).toBe(403);
  // Envoy takes the answer of a check from its message.
  expect(await grpc(CHECK, CHECK_MESSAGE)).toBe('grpc 0');
  expect(await grpc(SHOULD_RATE_LIMIT, Buffer.alloc(0))).toBe('grpc 7');
  expect(checks).toEqual([]);
  expect(await metrics('strangers_refused_total')).toEqual(['headgate_strangers_refused_total 4']);
});

describe('settlements', () => {
  const report = (headers = {}) => ({
    method: 'POST',
    body: '{"token":"a","units":{"tokens":812}}',
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
  });
  const LOG = accessLog({ token: 'b', units: { tokens: 5 } });
  let settled: unknown[];
  const settle: Settle = (token, { units }, channel) => {
    settled.push([token, units?.get('tokens'), channel]);
    return 'settled';
  };
  beforeEach(() => {
    settled = [];
  });

  test('arrive over both channels', async () => {
    const { http, grpc } = await start({}, false, settle);
    const answer = await http('check', '/settle', report());
    expect([answer.status, await answer.text()]).toEqual([200, '{"result":"settled"}']);
    expect(await grpc(STREAM_ACCESS_LOGS, LOG)).toBe('grpc 0');
    expect(settled).toEqual([
      ['a', 812, 'settle'],
      ['b', 5, 'envoy'],
    ]);
  });

  test('need a secret if there is one: that of settlements is for applications only', async () => {
    const secrets = { HEADGATE_PROXY_SECRET: SECRET, HEADGATE_SETTLE_SECRET: `${SECRET}-2` };
    const { http, grpc, metrics } = await start(secrets, false, settle);
    expect((await http('check', '/settle', report())).status).toBe(403);
    expect(await grpc(STREAM_ACCESS_LOGS, LOG)).toBe('grpc 7');
    const settleSecret = { 'x-headgate-settle-secret': `${SECRET}-2` };
    expect(await grpc(STREAM_ACCESS_LOGS, LOG, settleSecret)).toBe('grpc 7');
    expect(await metrics('strangers_refused_total')).toEqual([
      'headgate_strangers_refused_total 2',
    ]);
    expect(await metrics('settlements_total')).toEqual([
      'headgate_settlements_total{policy="none",channel="settle",result="refused"} 1',
    ]);
    expect(settled).toEqual([]);
    expect((await http('check', '/settle', report(settleSecret))).status).toBe(200);
    expect(await grpc(STREAM_ACCESS_LOGS, LOG, { 'x-headgate-secret': SECRET })).toBe('grpc 0');
    expect(settled).toHaveLength(2);
  });

  test('have no place in a gateway that does not take them', async () => {
    const { http, grpc } = await start({}, false);
    expect((await http('check', '/settle', report())).status).toBe(404);
    expect(await grpc(STREAM_ACCESS_LOGS, LOG)).toBe('grpc 12');
  });
});

describe('while the gateway stops', () => {
  test('checks are answered on connections that close, and it is not healthy', async () => {
    const { servers, http, grpc } = await start(RATE_LIMITS);
    expect((await http('check', '/envoy/a')).headers.get('connection')).toBe('keep-alive');
    servers.drain();
    const { status, headers } = await http('check', '/envoy/a');
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    expect((await http('json', '/healthcheck', closing)).status).toBe(500);
    expect(await grpc(CHECK, CHECK_MESSAGE)).toBe('grpc 0');
  });

  test('every connection ends', async () => {
    const { servers, ports } = await start(RATE_LIMITS);
    const session = await openSession(ports.grpc);
    const ended = once(session, 'close');
    await servers.close(60_000);
    await ended;
  });
});

test('without limits that apply, the rate limit service is not healthy', async () => {
  isHealthy = false;
  const { http } = await start(RATE_LIMITS);
  expect((await http('json', '/healthcheck', closing)).status).toBe(500);
});
