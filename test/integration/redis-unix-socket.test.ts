/** Redis behind a unix socket: gateways share its counters, and messages name the socket. */
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { runCommand } from '../support/command.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { startRedisInFolder, temporaryFolder, testWithOwnRedis } from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';

async function startOnSocket() {
  const folder = temporaryFolder();
  const socket = join(folder, 'redis.sock');
  const port = await freePort();
  const args = ['--port', String(port), ...IN_MEMORY, '--unixsocket', socket];
  const server = await startRedisInFolder(folder, port, [...args, '--requirepass', 'p@ss/word']);
  return { socket, server, url: `unix://:p%40ss%2Fword@${socket}?db=3` };
}

describe('a Redis on a unix socket', () => {
  testWithOwnRedis('has the counters of all gateways', async () => {
    const { server, url, socket } = await startOnSocket();
    await using _ = server;
    const env = { ...PATIENT, HEADGATE_REDIS_URL: url };
    await using one = await startGateway(env);
    await using two = await startGateway(env);
    const codes = await statuses(7, (i) =>
      call((i % 2 === 0 ? one : two).url, '/envoy/api/auth/login', { method: 'POST' }),
    );
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(one.output()).toContain(`store     Redis at unix:${socket}\n`);
  });

  testWithOwnRedis('is examined, and a mistake is named with its remedy', async () => {
    const { server, url, socket } = await startOnSocket();
    await using _ = server;
    const check = (redis: string) =>
      runCommand(['check', '--redis'], { env: { HEADGATE_REDIS_URL: redis } });
    expect(await check(url)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`unix:${socket}: fine: requests are counted`),
    });
    expect(await check(`unix://${socket}`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('requires a password: add it to the URL'),
    });
    expect(await check(`unix://${socket}.other`)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        `unix:${socket}.other: fault: has no socket at this path: start Redis with this unixsocket`,
      ),
    });
  });
});
