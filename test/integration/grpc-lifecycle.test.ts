/** How the gRPC server starts and stops. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { startGateway, startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest } from '../support/grpc-client.ts';
import {
  AUTHORIZATION,
  CHECK_MESSAGE,
  frame,
  openSession,
  openStream,
  statusOf,
} from '../support/grpc-frames.ts';
import { headersOf, outcome, outcomes } from '../support/grpc-outcomes.ts';
import { metric } from '../support/metrics.ts';
import { startProcess } from '../support/process.ts';
import { startRedis, testWithOwnRedis, testWithRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const start = (env: NodeJS.ProcessEnv = {}) =>
  startGatewayProcess({ HEADGATE_GRPC_PORT: '0', ...env });

// Side by side, because they mostly wait.
describe.concurrent('stopping', () => {
  test('does not wait for silent connections', async () => {
    // Unfinished requests would be waited for as long as this.
    await using gateway = await start({ HEADGATE_STORE_TIMEOUT_MS: '10000' });
    using client = connectGrpc(gateway.grpcPort);
    await client.check(envoyCheckRequest());
    const silent = connect(gateway.grpcPort, '127.0.0.1').resume();
    await once(silent, 'connect');
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output()).not.toContain('stopped_by_force');
  });

  test('is announced by health checks, and checks are answered until the drain is over', async () => {
    const drainMs = 3_000;
    await using gateway = await start({ HEADGATE_DRAIN_MS: String(drainMs) });
    using client = connectGrpc(gateway.grpcPort);
    for (const service of ['', AUTHORIZATION]) {
      expect((await client.health(service)).message).toEqual({ status: 'SERVING' });
    }
    expect((await client.health('unknown')).code).toBe(status.NOT_FOUND);
    const serving = { status: 'SERVING' };
    expect((await client.listHealth()).message).toEqual({ '': serving, [AUTHORIZATION]: serving });
    const session = await openSession(gateway.grpcPort);
    const watch = client.watchHealth(AUTHORIZATION).on('error', () => {});
    expect(await once(watch, 'data')).toEqual([{ status: 'SERVING' }]);
    const startedMs = performance.now();
    gateway.signal('SIGTERM');
    expect(await once(watch, 'data')).toEqual([{ status: 'NOT_SERVING' }]);
    // On a connection that was open before, and on a new one.
    const stream = openStream(session).end(frame(CHECK_MESSAGE));
    expect(await statusOf(stream)).toBe('grpc 0');
    using late = connectGrpc(gateway.grpcPort);
    for (const each of [client, late]) {
      for (const service of ['', AUTHORIZATION]) {
        expect((await each.health(service)).message).toEqual({ status: 'NOT_SERVING' });
      }
      expect(outcome(await each.check(envoyCheckRequest()))).toBe(200);
    }
    expect(await gateway.exited()).toBe(0);
    expect(performance.now() - startedMs).toBeGreaterThan(drainMs - 100);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s ends streams and connections that callers leave open',
    async (signal) => {
      await using gateway = await start({ HEADGATE_DRAIN_MS: '100' });
      using client = connectGrpc(gateway.grpcPort);
      const watch = client.watchHealth().on('error', () => {});
      await once(watch, 'data');
      const session = await openSession(gateway.grpcPort);
      const unfinished = openStream(session);
      unfinished.write(frame(CHECK_MESSAGE).subarray(0, 10));
      const halfOpen = connect({ port: gateway.grpcPort, allowHalfOpen: true });
      halfOpen.on('error', () => {});
      await once(halfOpen, 'connect');
      gateway.signal(signal);
      expect(await gateway.exited()).toBe(0);
      expect(gateway.output()).not.toContain('stopped_by_force');
      session.destroy();
      halfOpen.destroy();
    },
  );

  testWithOwnRedis.each([
    ['SIGTERM', '200'],
    ['SIGINT', '0'],
  ] as const)(
    '%s with %s ms of drain answers a check that waits for Redis',
    async (signal, drain) => {
      await using redis = await startRedis();
      await using gateway = await start({
        HEADGATE_REDIS_URL: redis.url,
        HEADGATE_STORE_TIMEOUT_MS: '300',
        HEADGATE_DRAIN_MS: drain,
      });
      using client = connectGrpc(gateway.grpcPort);
      const search = () => client.check(envoyCheckRequest({ path: '/api/search' }));
      expect(outcome(await search())).toBe(200);
      redis.signal('SIGSTOP');
      const pending = search();
      // Sent after the check on the same connection, and answered: the check waits for Redis now.
      await client.health();
      gateway.signal(signal);
      expect(headersOf(await pending)).toEqual({ 'x-ratelimit-mode': 'open' });
      redis.signal('SIGCONT');
      expect(await gateway.exited()).toBe(0);
    },
  );
});

describe('starting', () => {
  test('names a gRPC port that is taken, with exit code 1', async () => {
    await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0' });
    const env = {
      ...process.env,
      HEADGATE_PORT: '0',
      HEADGATE_OPS_PORT: '0',
      HEADGATE_GRPC_PORT: String(gateway.grpcPort),
    };
    const second = startProcess(NODE, [MAIN], { env });
    expect(await second.exited()).toBe(1);
    expect(second.output()).toMatch(
      new RegExp(`^headgate: port ${gateway.grpcPort} is taken, .*HEADGATE_GRPC_PORT$`, 'm'),
    );
  });

  testWithRedis('lets workers share one gRPC port and one limit', async () => {
    await using redis = await startRedis();
    await using gateway = await start({ HEADGATE_REDIS_URL: redis.url, HEADGATE_WORKERS: '2' });
    const login = { method: 'POST', path: '/api/auth/login' };
    // New connections, so that both workers answer.
    const codes = await outcomes(8, async () => {
      using client = connectGrpc(gateway.grpcPort);
      return await client.check(envoyCheckRequest(login));
    });
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(8);
    gateway.signal('SIGTERM');
    expect(await gateway.exited()).toBe(0);
  });
});
