/** Redis with sentinels that are down, or that announce a failover at a bad moment. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'vitest';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { createRedisClient } from '../../src/gateway/stores/redis/client.ts';
import { waitUntil } from '../support/eventually.ts';
import { bulk, startFakeRedis } from '../support/fake-redis.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { startRedis, testWithOwnRedis } from '../support/redis.ts';

testWithOwnRedis(
  'a client survives a failover that is announced while it looks up the master',
  async () => {
    await using sentinel = await startFakeRedis();
    let master = await startRedis();
    let delayMs = 0;
    let lookups = 0;
    let isSubscribed = false;
    sentinel.misbehave(({ name, words, socket }) => {
      if (name === 'subscribe') isSubscribed = true;
      if (name !== 'sentinel') return false;
      const isMaster = words[1]?.toLowerCase() === 'get-master-addr-by-name';
      if (isMaster) lookups++;
      const answer = isMaster ? `*2\r\n${bulk('127.0.0.1')}${bulk(String(master.port))}` : '*0\r\n';
      setTimeout(() => socket.writable && socket.write(answer), delayMs);
      return true;
    });
    const client = createRedisClient({
      target: parseRedisUrl(`${sentinel.url.replace('redis:', 'redis+sentinel:')}/mymaster`),
      deadlineMs: 50,
      onError: () => {},
    });
    await once(client, 'ready');
    await waitUntil('ioredis is subscribed to failovers', async () => isSubscribed);
    delayMs = 200;
    const before = lookups;
    await master.stop('SIGKILL');
    await waitUntil('the client looks up the master', async () => lookups > before);
    sentinel.say(`>3\r\n${bulk('message')}${bulk('+switch-master')}${bulk('mymaster')}`);
    master = await startRedis(master.port);
    await waitUntil('the client is back', async () => client.status === 'ready');
    client.disconnect();
    await master.stop();
  },
);

testWithOwnRedis('a gateway counts while one of its sentinels is down', async () => {
  await using master = await startRedis();
  await using sentinel = await startFakeRedis();
  sentinel.misbehave(({ name, words, socket }) => {
    if (name !== 'sentinel') return false;
    const isMaster = words[1]?.toLowerCase() === 'get-master-addr-by-name';
    socket.write(isMaster ? `*2\r\n${bulk('127.0.0.1')}${bulk(String(master.port))}` : '*0\r\n');
    return true;
  });
  let attempts = 0;
  await using down = createServer((socket) => {
    attempts++;
    socket.resetAndDestroy();
  }).listen(0, '127.0.0.1');
  await once(down, 'listening');
  const { port } = down.address() as AddressInfo;
  const places = `${new URL(sentinel.url).host},127.0.0.1:${port}`;
  await using gateway = await startGateway({
    ...PATIENT,
    HEADGATE_REDIS_URL: `redis+sentinel://${places}/mymaster`,
  });
  await waitUntil('it has been tried several times', async () => attempts >= 3);
  const { headers } = await call(gateway.url, '/envoy/a');
  expect(headers['x-ratelimit-remaining']).toBe('999');
  // Nothing follows the banner.
  expect(gateway.output()).toMatch(/\n {2}try .*\n$/);
});
