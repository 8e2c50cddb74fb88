/** Redis with sentinels that are down, or that announce a failover at a bad moment. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { createRedisClient } from '../../src/gateway/stores/redis/client.ts';
import { waitUntil } from '../support/eventually.ts';
import { bulk, startFakeRedis } from '../support/fake-redis.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, testWithOwnRedis } from '../support/redis.ts';

testWithOwnRedis(
  'a client survives a failover that is announced while it looks up the master',
  async () => {
    await using sentinel = await startFakeRedis();
    let master = await startRedis();
    let delayMs = 0;
    let lookups = 0;
    sentinel.misbehave(({ name, words, socket }) => {
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
    // After that, ioredis subscribes to failovers.
    await sleep(100);
    delayMs = 200;
    const before = lookups;
    await master.stop('SIGKILL');
    await waitUntil('the client looks up the master', async () => lookups > before);
    await sleep(50);
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
  const places = `${new URL(sentinel.url).host},127.0.0.1:${await freePort()}`;
  await using gateway = await startGateway({
    ...PATIENT,
    HEADGATE_REDIS_URL: `redis+sentinel://${places}/mymaster`,
  });
  // Long enough for several attempts to connect to it.
  await sleep(1_500);
  const { headers } = await call(gateway.url, '/envoy/a');
  expect(headers['x-ratelimit-remaining']).toBe('999');
  // Nothing follows the banner.
  expect(gateway.output()).toMatch(/\n {2}try .*\n$/);
});
