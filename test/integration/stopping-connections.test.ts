/** A gateway that stops answers the connections that it has not accepted yet. */
import { describe, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { fatesOf, openConnections } from '../support/new-connections.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';

const CONNECTIONS = 50;

async function expectStopWithoutLoss(gateway: GatewayProcess, signal: NodeJS.Signals) {
  // While the process is frozen, the kernel queues its connections.
  gateway.signal('SIGSTOP');
  const waiting = openConnections(gateway.port, CONNECTIONS);
  await Promise.all(waiting.map(({ opened }) => opened));
  gateway.signal(signal);
  gateway.signal('SIGCONT');
  expect(await fatesOf(waiting)).toEqual({ answered: CONNECTIONS });
  expect(await gateway.exited()).toBe(0);
  expect(await fatesOf(openConnections(gateway.port, 5))).toEqual({ refused: 5 });
}

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', (signal) => {
  test('lets a single process answer connections that wait to be accepted', async () => {
    await using gateway = await startGatewayProcess();
    await expectStopWithoutLoss(gateway, signal);
  });

  testWithRedis('lets workers answer connections that wait to be accepted', async () => {
    await using redis = await startRedis();
    await using gateway = await startGatewayProcess({
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_WORKERS: '2',
    });
    await expectStopWithoutLoss(gateway, signal);
  });
});
