/** A Valkey that was started without its Lua module cannot count: the banner and the examination say so. */
import { Redis } from 'ioredis';
import { expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { freePort } from '../support/ports.ts';
import { IN_MEMORY, startRedisServer } from '../support/redis-server.ts';

const { valkey } = inject('programs');

test.skipIf(valkey === undefined)('a Valkey without Lua is named with its remedy', async () => {
  const port = await freePort();
  const args = ['--port', String(port), ...IN_MEMORY, '--enable-module-command', 'yes'];
  await using server = await startRedisServer({ program: valkey as string, port, args });
  const client = new Redis(server.url);
  await client.call('MODULE', 'UNLOAD', 'lua');
  client.disconnect();
  const env = { HEADGATE_REDIS_URL: server.url };
  await using gateway = await startGateway(env);
  expect(gateway.output()).toContain(
    `store     Redis at 127.0.0.1:${port}: RUNS NO LUA, in which headgate counts: load its module lua`,
  );
  expect(await runCommand(['check', '--redis'], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('runs no Lua, in which headgate counts: load the module lua'),
  });
});
