import { expect, test } from 'vitest';
import { levelOf } from '../../../../../src/cli/doctor/redis/diagnostics.ts';
import { serverFindings, unusable } from '../../../../../src/cli/doctor/redis/server-findings.ts';
import { ServerInfo } from '../../../../../src/gateway/stores/redis/server-state.ts';

const GOOD: Readonly<Record<string, string>> = {
  redis_version: '8.12.0',
  redis_mode: 'standalone',
  role: 'master',
  loading: '0',
  used_memory: '1048576',
  maxmemory: '104857600',
  maxmemory_policy: 'noeviction',
  evicted_keys: '0',
  rdb_last_bgsave_status: 'ok',
  connected_slaves: '1',
};

function infoOf(fields: Readonly<Record<string, string>>): ServerInfo {
  const lines = Object.entries({ ...GOOD, ...fields }).map(([name, value]) => `${name}:${value}`);
  return new ServerInfo(['# Server', ...lines, ''].join('\r\n'));
}

function complaints(
  fields: Readonly<Record<string, string>>,
  kind: 'single' | 'cluster' = 'single',
  keysInStore = false,
): string[] {
  return [...serverFindings(infoOf(fields), { kind, tls: false, keysInStore })]
    .filter(({ severity }) => severity !== 'fine')
    .map((each) => `${levelOf(each)}: ${each.message}`);
}

test('reads INFO line by line, without headings', () => {
  const info = new ServerInfo('# Server: x\r\nos:Linux 6.1: x86\r\nevicted_keys:12\r\n\r\n');
  expect(info.text('os')).toBe('Linux 6.1: x86');
  expect(info.number('evicted_keys')).toBe(12);
  expect(info.number('os')).toBe(0);
  expect(info.text('role')).toBeUndefined();
});

test('finds nothing wrong with a good server', () => {
  expect(unusable(infoOf({}), 'single')).toBeUndefined();
  expect(complaints({})).toEqual([]);
});

test.each([
  [{ redis_mode: 'cluster' }, 'single', 'is a cluster node: write redis+cluster://'],
  [{ redis_mode: 'sentinel' }, 'single', 'is a sentinel: write redis+sentinel://'],
  [{}, 'cluster', 'is not a cluster node: write redis://'],
  [{ loading: '1', loading_eta_seconds: '7' }, 'single', 'is loading its data, about 7 s left'],
  [
    { role: 'slave', master_host: '10.0.0.1', master_port: '6380' },
    'sentinel',
    'is a replica of 10.0.0.1:6380',
  ],
] as const)('with %j, a server named as %s is unusable', (fields, kind, text) => {
  expect(unusable(infoOf(fields), kind)).toMatchObject({
    rule: 'redis-fault',
    message: expect.stringContaining(text),
  });
});

test.each([
  [{ redis_version: '6.0.21' }, 'warning: version 6.0.21 is older than 6.2, the oldest version'],
  [
    { redis_version: '7.2.10' },
    'warning: version 7.2.10 has known vulnerabilities (the list of 2026-08-27), unless your distribution has patched it; CVE-2025-49844 is fixed in 7.2.11: upgrade, and let no other account run scripts',
  ],
  [
    { redis_version: '7.0.15' },
    'warning: version 7.0.15 has known vulnerabilities (the list of 2026-08-27), unless your distribution has patched it; the release line 7.0 has no fix for CVE-2026-23631, CVE-2025-49844',
  ],
  // Valkey says which Redis it is like as well.
  [
    { redis_version: '7.2.4', valkey_version: '8.1.6' },
    'warning: version 8.1.6 has known vulnerabilities (the list of 2026-08-27), unless your distribution has patched it; CVE-2026-23631 is fixed in 8.1.7',
  ],
  [
    { maxmemory_policy: 'volatile-ttl' },
    'warning: maxmemory-policy is volatile-ttl: evicting a key',
  ],
  [{ used_memory: '84000000' }, 'warning: is nearly full, 80 MiB of 100 MiB are used'],
  [{ evicted_keys: '1' }, 'warning: has evicted 1 key since it started'],
  [{ maxmemory: '0', maxmemory_policy: 'allkeys-lru' }, 'note: has no memory limit (maxmemory 0)'],
  [{ rdb_last_bgsave_status: 'err' }, 'warning: could not save its last snapshot'],
  [{ aof_delayed_fsync: '3' }, 'warning: waited for its disk 3 times'],
])('with %j, there is one finding', (fields, text) => {
  expect(complaints(fields as Record<string, string>)).toEqual([expect.stringContaining(text)]);
});

test('reports a missing replica behind sentinels and in a cluster', () => {
  expect(complaints({ connected_slaves: '0' })).toEqual([]);
  expect(complaints({ connected_slaves: '0' }, 'cluster')).toEqual([
    'note: has no replica: if it fails, its counters are lost',
  ]);
});

test('says that API keys need appendonly, if Redis keeps some', () => {
  const withKeys = (fields: Readonly<Record<string, string>>) => complaints(fields, 'single', true);
  expect(complaints({ aof_enabled: '0' })).toEqual([]);
  expect(withKeys({ aof_enabled: '1' })).toEqual([]);
  expect(withKeys({})).toEqual([]);
  expect(withKeys({ aof_enabled: '0' })).toEqual([
    'warning: keeps API keys (keys: redis), and appendonly is off: if it crashes, keys that are newer than its last snapshot are lost, and all keys if it makes none; set appendonly to yes',
  ]);
  expect(withKeys({ aof_enabled: '1', aof_delayed_fsync: '3' })).toEqual([
    'warning: waited for its disk 3 times (aof_delayed_fsync): API keys need appendonly, so give it a faster disk',
  ]);
});
