/** What is tried on a server, and what is not tried on one that cannot count. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { levelOf } from '../../../../../src/cli/doctor/redis/diagnostics.ts';
import { examineRedis } from '../../../../../src/cli/doctor/redis/examine-redis.ts';
import { parseRedisUrl } from '../../../../../src/gateway/config/settings/redis-url.ts';
import { bulk, startFakeRedis } from '../../../../support/fake-redis.ts';

// On a busy machine an answer may come after the deadline.
beforeAll(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterAll(() => void vi.useRealTimers());

async function examined(info: string) {
  await using redis = await startFakeRedis();
  const commands = new Set<string>();
  redis.misbehave(({ name, socket }) => {
    commands.add(name);
    if (name === 'info') socket.write(bulk(info));
    return name === 'info';
  });
  const lines: string[] = [];
  const target = parseRedisUrl(redis.url);
  const options = {
    ...{ target, storeTimeoutMs: 100 },
    ...{ now: Date.now, replicas: 1, workers: 1 },
  };
  for await (const each of examineRedis(options)) {
    expect(each.file).toBe(`redis 127.0.0.1:${new URL(redis.url).port}`);
    lines.push(`${levelOf(each)}: ${each.message}`);
  }
  return { lines, commands };
}

test.each([
  ['role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n', 'is a replica of 10.0.0.1:6379'],
  ['role:master\r\nredis_mode:cluster\r\n', 'is a cluster node'],
  ['role:master\r\nloading:1\r\n', 'is loading its data: gateways can count'],
])('%j: one fault, and nothing is counted there', async (info, fault) => {
  const { lines, commands } = await examined(info);
  expect(lines).toEqual([expect.stringContaining(`fault: ${fault}`)]);
  for (const name of ['take', 'eval', 'set', 'del', 'subscribe', 'time'])
    expect(commands).not.toContain(name);
});
