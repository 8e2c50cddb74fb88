/** What becomes of new connections while a gateway stops, or loses a worker. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { fatesOf, openConnections } from '../support/new-connections.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';

const CONNECTIONS = 50;

async function workersOf(gateway: GatewayProcess): Promise<number[]> {
  const path = `/proc/${gateway.pid}/task/${gateway.pid}/children`;
  return (await readFile(path, 'utf8')).trim().split(' ').map(Number);
}

/** Stops a gateway at a moment at which the kernel has connections for it that it has not accepted yet. */
async function stopWithConnectionsWaiting(gateway: GatewayProcess, signal: NodeJS.Signals) {
  gateway.signal('SIGSTOP');
  const waiting = openConnections(gateway.port, CONNECTIONS);
  await Promise.all(waiting.map(({ opened }) => opened));
  gateway.signal(signal);
  gateway.signal('SIGCONT');
  return waiting;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`answers connections that wait to be accepted when ${signal} comes`, async () => {
    await using gateway = await startGatewayProcess();
    const waiting = await stopWithConnectionsWaiting(gateway, signal);
    expect(await fatesOf(waiting)).toEqual({ answered: CONNECTIONS });
    expect(await gateway.exited()).toBe(0);
    expect(await fatesOf(openConnections(gateway.port, 5))).toEqual({ refused: 5 });
  });

  testWithRedis(`answers them with workers, too: ${signal}`, async () => {
    await using redis = await startRedis();
    await using gateway = await startGatewayProcess({
      HEADGATE_REDIS_URL: redis.url,
      HEADGATE_WORKERS: '2',
    });
    const waiting = await stopWithConnectionsWaiting(gateway, signal);
    expect(await fatesOf(waiting)).toEqual({ answered: CONNECTIONS });
    expect(await gateway.exited()).toBe(0);
    expect(await fatesOf(openConnections(gateway.port, 5))).toEqual({ refused: 5 });
  });
}

testWithRedis('answers connections that a dead worker has not taken', async () => {
  await using redis = await startRedis();
  await using gateway = await startGatewayProcess({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_WORKERS: '2',
  });
  const [frozen = 0] = await workersOf(gateway);
  process.kill(frozen, 'SIGSTOP');
  const connections = openConnections(gateway.port, 20);
  let ended = 0;
  for (const { fate } of connections) void fate.then(() => ended++);
  // The other one was passed to the worker that does not run.
  await eventually(
    async () => ended,
    (count) => count === 19,
  );
  process.kill(frozen, 'SIGKILL');
  expect(await fatesOf(connections)).toEqual({ answered: 20 });
});

testWithRedis('answers new connections while its workers are replaced', async () => {
  await using redis = await startRedis();
  await using gateway = await startGatewayProcess({
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_WORKERS: '2',
  });
  gateway.signal('SIGUSR2');
  const replaced = gateway.printed(/"event":"workers_replaced"/).then(() => true);
  let isReplaced = false;
  void replaced.then(() => {
    isReplaced = true;
  });
  let answered = 0;
  while (!isReplaced) {
    const connections = openConnections(gateway.port, 4);
    expect(await fatesOf(connections)).toEqual({ answered: 4 });
    answered += 4;
  }
  expect(answered).toBeGreaterThan(0);
});
