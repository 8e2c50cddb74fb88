/** A gateway that stops answers the connections that it has not accepted yet. */
import { expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { connectBeforeSignal, fatesOf, openConnections } from '../support/new-connections.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';

async function expectStopWithoutLoss(gateway: GatewayProcess, signal: NodeJS.Signals) {
  const waiting = await connectBeforeSignal(gateway.port, gateway, signal);
  expect(await fatesOf(waiting)).toEqual({ answered: waiting.length });
  expect(await gateway.exited()).toBe(0);
  expect(await fatesOf(openConnections(gateway.port, 5))).toEqual({ refused: 5 });
}

test.each(['SIGINT', 'SIGTERM'] as const)('a single process stops on %s', async (signal) => {
  await using gateway = await startGatewayProcess();
  await expectStopWithoutLoss(gateway, signal);
});

// workers.test.ts has the same test with SIGTERM.
testWithRedis('a gateway with workers stops on SIGINT', async () => {
  await using redis = await startRedis();
  await using gateway = await startGatewayProcess({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_WORKERS: '2',
  });
  await expectStopWithoutLoss(gateway, 'SIGINT');
});
