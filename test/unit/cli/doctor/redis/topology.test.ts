/** Which servers count: that of the URL, the master of sentinels, or the masters of a cluster. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { levelOf } from '../../../../../src/cli/doctor/redis/diagnostics.ts';
import { countingServers } from '../../../../../src/cli/doctor/redis/topology.ts';
import { parseRedisUrl } from '../../../../../src/gateway/config/settings/redis-url.ts';
import { bulk, type Fault, startFakeRedis } from '../../../../support/fake-redis.ts';

// On a busy machine an answer may come after the deadline.
beforeAll(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterAll(() => void vi.useRealTimers());

async function serversOf(url: string) {
  const found: string[] = [];
  const findings = countingServers(parseRedisUrl(url));
  let next = await findings.next();
  for (; !next.done; next = await findings.next())
    found.push(`${next.value.file}: ${levelOf(next.value)}: ${next.value.message}`);
  return { found, servers: next.value };
}

const portOf = (url: string) => Number(new URL(url).port);
const answerTo =
  (answers: Readonly<Record<string, string>>): Fault =>
  ({ name, socket }) => {
    const answer = answers[name];
    if (answer === undefined) return false;
    socket.write(answer);
    return true;
  };
const master = (port: number) => `*2\r\n${bulk('10.0.0.1')}${bulk(String(port))}`;
const NONE = '*-1\r\n';

/** Sentinels with these answers, and what is found with them. */
async function sentinels(...answers: string[]) {
  await using stack = new AsyncDisposableStack();
  const places: string[] = [];
  for (const answer of answers) {
    const sentinel = stack.use(await startFakeRedis());
    sentinel.misbehave(answerTo({ sentinel: answer }));
    places.push(`127.0.0.1:${portOf(sentinel.url)}`);
  }
  const { found, servers } = await serversOf(`redis+sentinel://${places.join(',')}/mymaster`);
  const named = found.map((each) =>
    places.reduce((text, place, i) => text.replaceAll(place, `S${i}`), each),
  );
  return { found: named, masters: servers.map(({ address, holds }) => [address, holds(16_383)]) };
}

test('a single server is that of the URL, and has every slot', async () => {
  const { found, servers } = await serversOf('redis://redis.example:6380');
  expect(found).toEqual([]);
  expect(servers.map(({ address, holds }) => [address, holds(0), holds(16_383)])).toEqual([
    [{ host: 'redis.example', port: 6380 }, true, true],
  ]);
});

test('sentinels that agree', async () => {
  expect(await sentinels(master(7001), master(7001))).toEqual({
    found: ['redis S0: fine: 2 of 2 sentinels answer, the master is 10.0.0.1:7001'],
    masters: [[{ host: '10.0.0.1', port: 7001 }, true]],
  });
});

test('sentinels that disagree: a warning, and both masters are examined', async () => {
  const { found, masters } = await sentinels(master(7001), master(7002));
  expect(found).toEqual([
    'redis S0: warning: 2 of 2 sentinels answer, the master is 10.0.0.1:7001 or 10.0.0.1:7002: they disagree, perhaps because of a failover; repeat the check',
  ]);
  expect(masters).toHaveLength(2);
});

test('one sentinel that knows the master is enough', async () => {
  const { found, masters } = await sentinels(NONE, master(7001));
  expect(found).toEqual(['redis S0: fine: 2 of 2 sentinels answer, the master is 10.0.0.1:7001']);
  expect(masters).toHaveLength(1);
});

test('no sentinel knows the name', async () => {
  expect(await sentinels(NONE, NONE)).toEqual({
    found: [
      'redis S0: fault: no sentinel monitors a master named mymaster: correct the name in the URL',
    ],
    masters: [],
  });
});

test('a sentinel that refuses is a warning beside one that answers, and a fault alone', async () => {
  const refused = "-ERR unknown command 'SENTINEL'\r\n";
  const is = 'is not a sentinel: put sentinels in the URL, or write redis://';
  expect((await sentinels(refused, master(7001))).found).toEqual([
    `redis S0: warning: ${is}`,
    'redis S1: fine: 1 of 2 sentinels answer, the master is 10.0.0.1:7001',
  ]);
  expect(await sentinels(refused, refused)).toEqual({
    found: [`redis S0: fault: ${is}`, `redis S1: fault: ${is}`],
    masters: [],
  });
});

type Shard = readonly [first: number, last: number, host: string, port: number];

async function cluster(shards: readonly Shard[], info = 'redis_mode:cluster\r\nrole:master') {
  await using node = await startFakeRedis();
  const rows = shards.map(
    ([first, last, host, port]) =>
      `*3\r\n:${first}\r\n:${last}\r\n*3\r\n${bulk(host)}:${port}\r\n${bulk('id')}`,
  );
  node.misbehave(
    answerTo({ info: bulk(`${info}\r\n`), cluster: `*${rows.length}\r\n${rows.join('')}` }),
  );
  const { found, servers } = await serversOf(`redis+cluster://127.0.0.1:${portOf(node.url)}`);
  const own = `127.0.0.1:${portOf(node.url)}`;
  return { found: found.map((each) => each.replaceAll(own, 'NODE')), servers };
}

test('each master of a cluster has its own slots, also in several parts', async () => {
  const { found, servers } = await cluster([
    [0, 99, '10.0.0.1', 7001],
    [100, 16_000, '10.0.0.2', 7002],
    [16_001, 16_383, '10.0.0.1', 7001],
  ]);
  expect(found).toEqual([]);
  const held = (at: number) =>
    [0, 99, 100, 16_000, 16_001, 16_383].filter(servers[at]?.holds ?? Number.isNaN);
  expect(servers.map(({ address }) => address)).toEqual([
    { host: '10.0.0.1', port: 7001 },
    { host: '10.0.0.2', port: 7002 },
  ]);
  expect([held(0), held(1)]).toEqual([
    [0, 99, 16_001, 16_383],
    [100, 16_000],
  ]);
});

test('one slot without a master is a fault, and the others are examined', async () => {
  const { found, servers } = await cluster([[1, 16_383, '10.0.0.1', 7001]]);
  expect(found).toEqual([
    'redis NODE: fault: only 16383 of 16384 slots have a master: see CLUSTER NODES, and redis-cli --cluster fix',
  ]);
  expect(servers).toHaveLength(1);
});

test('an empty host is that of the node', async () => {
  const { servers } = await cluster([[0, 16_383, '', 7001]]);
  expect(servers.map(({ address }) => address)).toEqual([{ host: '127.0.0.1', port: 7001 }]);
});

test('a replica knows the slots, and a single server is no node', async () => {
  const all: Shard[] = [[0, 16_383, '10.0.0.1', 7001]];
  const replica = await cluster(all, 'redis_mode:cluster\r\nrole:slave');
  expect([replica.found, replica.servers.length]).toEqual([[], 1]);
  expect(await cluster(all, 'redis_mode:standalone\r\nrole:master')).toEqual({
    found: ['redis NODE: fault: is not a cluster node: write redis:// in the URL'],
    servers: [],
  });
});
