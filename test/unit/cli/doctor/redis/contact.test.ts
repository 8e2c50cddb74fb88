/** The first reason why a server cannot be used is the one that is told. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { contact, serverTarget } from '../../../../../src/cli/doctor/redis/contact.ts';
import { parseRedisUrl } from '../../../../../src/gateway/config/settings/redis-url.ts';
import { bulk, startFakeRedis } from '../../../../support/fake-redis.ts';
import { temporaryFolder } from '../../../../support/temporary.ts';

// On a busy machine an answer may come after the deadline.
beforeAll(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterAll(() => void vi.useRealTimers());

test('a socket that is not there', async () => {
  using stack = new DisposableStack();
  const target = parseRedisUrl(`unix://${join(temporaryFolder(stack), 'redis.sock')}`);
  await expect(contact(target)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a server is reached with what it says of itself', async () => {
  await using redis = await startFakeRedis();
  const { client, info, ready } = await contact(parseRedisUrl(redis.url));
  await ready();
  expect([info?.text('redis_version'), info?.text('role')]).toEqual(['7.0.15', 'master']);
  client.disconnect();
});

test.each([
  ["-NOPERM this user has no permissions to run the 'info' command\r\n", undefined],
  [bulk('redis_version:1.2.3\r\n'), '1.2.3'],
])('a server that answers INFO with %j', async (answer, version) => {
  await using redis = await startFakeRedis();
  redis.misbehave(({ name, socket }) => {
    if (name === 'info') socket.write(answer);
    return name === 'info';
  });
  const { client, info } = await contact(parseRedisUrl(redis.url));
  expect(info?.text('redis_version')).toBe(version);
  client.disconnect();
});

test('a server that refuses INFO for another reason', async () => {
  await using redis = await startFakeRedis();
  redis.misbehave(({ name, socket }) => {
    if (name === 'info') socket.write('-ERR out of order\r\n');
    return name === 'info';
  });
  await expect(contact(parseRedisUrl(redis.url))).rejects.toThrow('out of order');
});

test('the target of one server of several', async () => {
  const target = parseRedisUrl('redis+cluster://me:secret@a:1,b:2');
  const single = serverTarget(target, { host: 'b', port: 2 });
  expect(single).toEqual({ ...target, kind: 'single', addresses: [{ host: 'b', port: 2 }] });
  await expect(contact(target)).rejects.toThrow('a contact needs the target of a single server');
});
