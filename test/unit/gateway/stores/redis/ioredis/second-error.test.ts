import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { parseRedisUrl } from '../../../../../../src/gateway/config/settings/redis-url.ts';
import { createRedisClient } from '../../../../../../src/gateway/stores/redis/client.ts';

test('a second error of a connection, as Node reports over TLS, ends nothing', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const errors: string[] = [];
  const client = createRedisClient({
    target: parseRedisUrl(`redis://127.0.0.1:${port}`),
    deadlineMs: 1_000,
    onError: ({ message }) => errors.push(message),
  }) as Redis;
  await once(client, 'connect');
  const { stream } = client;
  stream.emit('error', new Error('the certificate is refused'));
  stream.emit('error', new Error('the server answers that with an alert'));
  expect(errors).toEqual(['the certificate is refused']);
  client.disconnect();
  stream.destroy();
  server.close();
});
