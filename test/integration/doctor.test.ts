/** `headgate check --redis` with servers in every state that it distinguishes. */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { levelOf } from '../../src/cli/doctor/redis/diagnostics.ts';
import { examineRedis } from '../../src/cli/doctor/redis/examine-redis.ts';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { runCommand } from '../support/command.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { freePort } from '../support/ports.ts';
import {
  connectTo,
  startRedis,
  startRedisInFolder,
  type TestRedis,
  temporaryFolder,
  testWithOwnRedis,
  testWithRedis,
} from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { startTlsRedis } from '../support/redis-tls.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';

/** A busy machine delays round trips. */
const PATIENCE_MS = 5_000;

interface Report {
  readonly code: number | null;
  readonly lines: readonly string[];
}

/** Runs the command. */
async function check(url: string, ...files: string[]): Promise<Report> {
  const { code, stdout, stderr } = await runCommand(['check', '--redis', ...files], {
    env: { HEADGATE_REDIS_URL: url, HEADGATE_STORE_TIMEOUT_MS: String(PATIENCE_MS) },
  });
  return { code, lines: (stdout + stderr).trim().split('\n') };
}

/** The findings without the command, such as `127.0.0.1:6379: fault: refuses connections ...`. */
async function examine(url: string): Promise<string[]> {
  const options = {
    ...{ target: parseRedisUrl(url), storeTimeoutMs: PATIENCE_MS, now: Date.now },
    ...{ replicas: 1, workers: 1 },
  };
  const lines: string[] = [];
  for await (const diagnostic of examineRedis(options)) {
    const place = diagnostic.file.replace('redis ', '');
    lines.push(`${place}: ${levelOf(diagnostic)}: ${diagnostic.message}`);
  }
  return lines;
}

/** Warnings and faults, except those about the version of Redis. */
async function complaintsAbout(url: string): Promise<string[]> {
  const lines = await examine(url);
  return lines
    .filter((line) => / (warning|fault): /.test(line) && !/: warning: version /.test(line))
    .map((line) => line.replace(/^.*?: (?=warning|fault)/, ''));
}

/** Starts a server with these arguments. */
function startServer(...args: string[]): Promise<TestRedis> {
  return startServerIn(temporaryFolder(), ...args);
}

async function startServerIn(folder: string, ...args: string[]): Promise<TestRedis> {
  const port = await freePort();
  return startRedisInFolder(folder, port, ['--port', String(port), ...IN_MEMORY, ...args]);
}

async function asAdmin(server: TestRedis, ...commands: string[][]): Promise<void> {
  const admin = connectTo(server);
  for (const [command = '', ...args] of commands) await admin.call(command, ...args);
  admin.disconnect();
}

const FILL = ['EVAL', "for i = 1, 4000 do redis.call('SET', i, string.rep('x', 1000)) end", '0'];

test('without Redis in the environment, names the setting and exits with code 3', async () => {
  const { code, lines } = await check('');
  expect(code).toBe(3);
  expect(lines[0]).toMatch(/^HEADGATE_REDIS_URL: is not set, and REDIS_URL is not set either/);
});

testWithRedis(
  'a server with the shipped account and a password for the default user is fine',
  async () => {
    await using redis = await startRedis();
    await addShippedAccount(redis);
    await asAdmin(
      redis,
      ['CONFIG', 'SET', 'maxmemory', '100mb'],
      ['CONFIG', 'RESETSTAT'],
      ['ACL', 'SETUSER', 'watcher', 'on', '>watching', '~*', '+@all'],
      ['ACL', 'SETUSER', 'default', 'resetpass'],
    );
    const url = byShippedAccount(redis.url);
    const { code, lines } = await check(url, 'config/policies.yaml');
    expect(code).toBe(0);
    expect(lines).toContain('config/policies.yaml: fine, 5 policies and the default');
    // Without the findings about the policy file, and their source lines.
    const own = lines.filter((line) => !line.startsWith('config/') && !line.startsWith('    '));
    const place = `redis ${new URL(redis.url).host}: `;
    expect(own.filter((line) => !line.startsWith(place))).toEqual([]);
    expect(own.filter((line) => !/: (fine|warning: version)/.test(line))).toEqual([]);
    for (const text of [
      /: fine: (Redis|Valkey) \d+\.\d+\.\d+, a master(; no known vulnerabilities in the list of \d{4}-\d\d-\d\d, which is incomplete)?$/,
      /: fine: maxmemory-policy is noeviction, [\d.]+ MiB of 100 MiB are used$/,
      /: fine: requires a password, and the account has only the rights that gateways need$/,
      /: fine: its clock agrees with the clock of this machine$/,
      /: fine: round trips take [\d.]+ ms \(median\) to [\d.]+ ms \(worst of \d+\), HEADGATE_STORE_TIMEOUT_MS is 5000$/,
      /: fine: requests are counted$/,
    ]) {
      expect(own).toContainEqual(expect.stringMatching(text));
    }
    expect(lines.join()).not.toContain('change-me');

    const watcher = connectTo({ ...redis, url: redis.url.replace('://', '://watcher:watching@') });
    expect(await watcher.keys('*')).toEqual([]);
    // Every command that a take may need was tried.
    const used = await watcher.info('commandstats');
    const lists = ['lpush', 'rpush', 'lset', 'ltrim', 'lrem', 'lindex', 'llen'];
    for (const command of [...lists, 'pexpire', 'del']) {
      expect(used).toContain(`cmdstat_${command}:`);
    }
    watcher.disconnect();
  },
);

testWithOwnRedis('warns of settings that endanger counters', async () => {
  await using redis = await startServer('--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru');
  await asAdmin(redis, FILL);
  expect(await complaintsAbout(redis.url)).toEqual([
    'warning: maxmemory-policy is allkeys-lru: evicting a key resets a counter; set it to noeviction',
    expect.stringMatching(/^warning: is nearly full, \d\.\d MiB of 3\.0 MiB are used: raise/),
    expect.stringMatching(
      /^warning: has evicted \d+ keys since it started, perhaps counters: raise/,
    ),
    expect.stringMatching(/^warning: accepts commands without a password: /),
  ]);
});

testWithOwnRedis(
  'reports a missing password, and warns of an account with all rights',
  async () => {
    await using redis = await startServer('--requirepass', 'open-sesame');
    expect(await complaintsAbout(redis.url)).toEqual([
      expect.stringMatching(/^fault: requires a password: add it to the URL, as user:password@/),
    ]);
    expect(await complaintsAbout(redis.url.replace('://', '://nobody:wrong@'))).toEqual([
      'fault: refuses this user and password: correct them in the URL',
    ]);
    const lines = await examine(redis.url.replace('://', '://:open-sesame@'));
    expect(lines).toContainEqual(
      expect.stringContaining(
        ': warning: gives the account more rights than gateways need: use the account of deploy/redis/users.acl',
      ),
    );
    expect(lines).toContainEqual(expect.stringContaining(': note: has no memory limit (maxmemory'));
  },
);

testWithOwnRedis(
  'reports a full server, a replica, and a server that does not fit the URL',
  async () => {
    await using redis = await startServer('--maxmemory', '1', '--maxmemory-policy', 'noeviction');
    await using replica = await startServer('--replicaof', '127.0.0.1', String(redis.port));
    const faultOf = async (url: string) => (await complaintsAbout(url)).at(-1);
    const { url } = redis;
    expect(await faultOf(url)).toMatch(/^fault: is full and refuses to count: raise maxmemory/);
    expect(await faultOf(replica.url)).toContain(
      `fault: is a replica of 127.0.0.1:${redis.port} and refuses writes: put`,
    );
    expect(await faultOf(`${url}/99`)).toContain(
      'fault: has fewer databases than the number in the URL',
    );
    expect(await faultOf(url.replace('redis', 'redis+cluster'))).toContain(
      'fault: is not a cluster node: write redis://',
    );
    expect(await faultOf(`${url.replace('redis', 'redis+sentinel')}/mymaster`)).toContain(
      'fault: is not a sentinel: put sentinels',
    );
    expect(await faultOf(`redis://127.0.0.1:${await freePort()}`)).toContain(
      'fault: refuses connections: start Redis',
    );
  },
);

testWithOwnRedis(
  'names each right that the account lacks, and what is lost without it',
  async () => {
    await using redis = await startServer();
    const lacking = async (...rules: string[]) => {
      await addShippedAccount(redis);
      await asAdmin(redis, ['ACL', 'SETUSER', 'headgate', ...rules]);
      const complaints = await complaintsAbout(byShippedAccount(redis.url));
      return complaints.filter((line) => !line.includes('without a password'));
    };
    const without = (right: string) =>
      `does not give the account the right ${right}: add it, as in deploy/redis/users.acl`;
    expect(await lacking('-evalsha')).toEqual([`fault: ${without('+evalsha')}`]);
    // Only newer servers name the command.
    expect(await lacking('-lset')).toEqual([
      expect.stringMatching(
        /^fault: does not give the account the right (\+lset|to a command that)/,
      ),
    ]);
    expect(await lacking('-lrem')).toEqual([
      expect.stringMatching(
        /^warning: does not give the account the right (\+lrem|to a command that).*; without it, limits that refund stay charged$/,
      ),
    ]);
    expect(await lacking('resetkeys')).toEqual([`fault: ${without('~hg:v1:*')}`]);
    // ioredis prints a warning, too.
    const said = vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(await lacking('-info')).toEqual([
      `warning: ${without('+info')}; without it, its version, memory and role are not examined`,
    ]);
    said.mockRestore();
    expect(await lacking('resetchannels', '-hgetall')).toEqual([
      expect.stringMatching(/^warning: does not .*; without it, while Redis is down/),
      expect.stringMatching(/^warning: does not .*; without it, operators cannot block/),
      `warning: ${without('&hg:v1:*')}; without it, denials are not cached, so every denied request reaches Redis, and changes by operators take effect seconds later`,
    ]);
    for (const right of ['getrange', 'zrangebylex', 'xadd', 'xrevrange']) {
      expect(await lacking(`-${right}`)).toEqual([
        `warning: ${without(`+${right}`)}; without it, API keys cannot be kept in Redis (keys: redis)`,
      ]);
    }
    expect(await lacking('-scan')).toEqual([
      `warning: ${without('+scan')}; without it, the number of counted windows is unknown`,
    ]);
  },
);

testWithOwnRedis('says that keys: redis needs appendonly, if a policy file has it', async () => {
  await using redis = await startServer();
  const file = join(temporaryFolder(), 'policies.yaml');
  writeFileSync(
    file,
    'version: 1\nidentity: { api_key: { keys: redis } }\ndefault: { limits: [1/1h] }\n',
  );
  const about = async (policies: string, ...files: string[]) => {
    const env = { HEADGATE_REDIS_URL: redis.url, HEADGATE_POLICIES: policies };
    const { stdout } = await runCommand(['check', '--redis', ...files], { env });
    return stdout.includes('warning: keeps API keys (keys: redis), and appendonly is off');
  };
  expect([await about(file), await about('', file), await about('')]).toEqual([true, true, false]);
  await asAdmin(redis, ['CONFIG', 'SET', 'appendonly', 'yes']);
  expect(await about(file)).toBe(false);
});

testWithOwnRedis('reports a frozen server in one line, with exit code 1', async () => {
  await using redis = await startRedis();
  redis.signal('SIGSTOP');
  expect(await check(redis.url)).toEqual({
    code: 1,
    lines: [
      `redis 127.0.0.1:${redis.port}: fault: accepts connections but does not answer: it is frozen, overloaded or busy with one long command`,
    ],
  });
  redis.signal('SIGCONT');
});

testWithOwnRedis('reports a server that is loading its data', async () => {
  const [saved, loaded] = [temporaryFolder(), temporaryFolder()];
  await using full = await startServerIn(saved);
  await asAdmin(full, FILL, ['SAVE']);
  copyFileSync(join(saved, 'dump.rdb'), join(loaded, 'dump.rdb'));
  // Microseconds per key, and bytes between two looks at the clients.
  const slowly = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '10000'];
  await using loading = await startServerIn(loaded, ...slowly);
  expect(await complaintsAbout(loading.url)).toEqual([
    expect.stringMatching(
      /^fault: is loading its data, about \d+ s left: gateways can count there/,
    ),
  ]);
});

testWithOwnRedis('reports a certificate that is not trusted', async () => {
  await using redis = await startTlsRedis();
  expect(await complaintsAbout(redis.url)).toEqual([
    expect.stringMatching(
      /^fault: has a certificate that is not trusted \([A-Z_]+\): set NODE_EXTRA_CA_CERTS/,
    ),
  ]);
});

testWithOwnRedis('examines every master of a cluster', async () => {
  await using cluster = await startRedisCluster();
  const lines = await examine(cluster.url);
  expect(lines.filter((line) => line.includes(': fault: '))).toEqual([]);
  for (const { port } of cluster.nodes) {
    const place = `127.0.0.1:${port}`;
    expect(lines).toContain(`${place}: fine: requests are counted`);
    expect(lines).toContain(`${place}: note: has no replica: if it fails, its counters are lost`);
  }
  const [first, second] = cluster.nodes;
  // A URL without +cluster does not fit a node of a cluster.
  expect(await complaintsAbout(first?.url ?? '')).toEqual([
    'fault: is a cluster node: write redis+cluster:// in the URL',
  ]);
  await second?.stop('SIGKILL');
  const after = await examine(cluster.url);
  expect(after).toContainEqual(
    expect.stringMatching(`^127.0.0.1:${second?.port}: fault: refuses connections`),
  );
});

testWithOwnRedis('counts the sentinels, and examines their master', async () => {
  await using redis = await startRedisSentinel();
  const lines = await examine(redis.url);
  expect(lines.filter((line) => line.includes(': fault: '))).toEqual([]);
  const master = /: fine: 3 of 3 sentinels answer, the master is (127\.0\.0\.1:\d+)$/.exec(
    lines[0] ?? '',
  )?.[1];
  expect(lines).toContain(`${master}: fine: requests are counted`);
  expect(lines.join()).not.toContain('has no replica');

  const missing = await freePort();
  const fewer = await examine(redis.url.replace('/mymaster', `,127.0.0.1:${missing}/mymaster`));
  expect(fewer[0]).toMatch(`127.0.0.1:${missing}: warning: refuses connections: `);
  expect(fewer[1]).toContain(': fine: 3 of 4 sentinels answer');
  expect(await complaintsAbout(redis.url.replace('mymaster', 'other'))).toEqual([
    'fault: no sentinel monitors a master named other: correct the name in the URL',
  ]);
});

testWithRedis('warns of several gateways while HEADGATE_REPLICAS is 1', async () => {
  await using redis = await startRedis();
  const env = { HEADGATE_REDIS_URL: redis.url, ...PATIENT };
  const several = /: warning: 2 gateways count here, and HEADGATE_REPLICAS is 1: /;
  await using _one = await startGateway(env);
  expect((await check(redis.url)).lines.join('\n')).not.toMatch(/gateways count here/);
  await using two = await startGateway(env);
  expect(two.output()).toContain('HEADGATE_REPLICAS is 1, but 2 gateways count here. ');
  expect((await check(redis.url)).lines).toContainEqual(expect.stringMatching(several));
  await using three = await startGateway({ ...env, HEADGATE_REPLICAS: '3' });
  expect(three.output()).not.toContain('HEADGATE_REPLICAS is 1');
});

testWithRedis('warns of a clock that differs and of slow round trips', async () => {
  await using redis = await startRedis();
  const texts: string[] = [];
  const target = parseRedisUrl(redis.url);
  const now = () => Date.now() - 5_000;
  const options = { target, storeTimeoutMs: 0.02, now, replicas: 1, workers: 1 };
  for await (const { severity, message } of examineRedis(options)) {
    if (severity === 'warning') texts.push(message);
  }
  expect(texts).toContainEqual(
    expect.stringMatching(/^its clock is 5\.0 s ahead of this machine's: /),
  );
  expect(texts).toContainEqual(
    expect.stringMatching(
      /more than half of HEADGATE_STORE_TIMEOUT_MS \(0\.02\): move the gateways/,
    ),
  );
});
