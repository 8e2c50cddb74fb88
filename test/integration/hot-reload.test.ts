/** Policies that change while a gateway runs, however their files are replaced. */
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-reload-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const policies = (limit: number, identity = '{}') =>
  `{ version: 1, identity: ${identity}, default: { limits: [${limit}/1h] } }`;

let clients = 0;
/** The limit that a client of its own is held to. */
async function limitOf(gateway: Gateway, headers: Record<string, string> = {}): Promise<number> {
  const client = { 'x-headgate-client-ip': `198.51.${clients >> 8}.${clients++ & 255}` };
  const answer = await call(gateway.url, '/envoy/a', { headers: { ...client, ...headers } });
  return Number(answer.headers['x-ratelimit-limit']);
}

const holds = (gateway: Gateway, limit: number, headers?: Record<string, string>) =>
  expect.poll(() => limitOf(gateway, headers), { timeout: 4_000, interval: 10 }).toBe(limit);

/** As the kubelet does it: a folder of its own for each version, and a link that is renamed over the last one. */
function mountVersion(version: number, text: string): void {
  const data = `..version-${version}`;
  mkdirSync(join(folder, data));
  writeFileSync(join(folder, data, 'policies.yaml'), text);
  symlinkSync(data, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  if (version > 0) rmSync(join(folder, `..version-${version - 1}`), { recursive: true });
}

test('each of 50 versions of a mounted ConfigMap is taken up', async () => {
  mountVersion(0, policies(1_000));
  const file = join(folder, 'policies.yaml');
  symlinkSync('..data/policies.yaml', file);
  await using gateway = await startGateway({ HEADGATE_POLICIES: file });
  for (let version = 1; version <= 50; version++) {
    mountVersion(version, policies(1_000 + version));
    await holds(gateway, 1_000 + version);
  }
  const { body } = await call(gateway.opsUrl, '/metrics');
  expect(body).toContain('headgate_policy_reloads_total{result="ok"} 50');
});

test('so is a file that is written over, renamed over, or taken away and put back', async () => {
  const file = join(folder, 'policies.yaml');
  writeFileSync(file, policies(10));
  await using gateway = await startGateway({ HEADGATE_POLICIES: file });
  writeFileSync(file, policies(11));
  await holds(gateway, 11);
  writeFileSync(join(folder, 'next.yaml'), policies(12));
  renameSync(join(folder, 'next.yaml'), file);
  await holds(gateway, 12);
  rmSync(file);
  await gateway.printed(/policies_refused.*policies\.yaml: does not exist/);
  expect(await limitOf(gateway)).toBe(12);
  writeFileSync(file, policies(13));
  await holds(gateway, 13);
});

test('a mistake changes nothing, is told once with its place, and is counted', async () => {
  const file = join(folder, 'policies.yaml');
  writeFileSync(file, policies(10));
  await using gateway = await startGateway({ HEADGATE_POLICIES: file });
  writeFileSync(file, '{ version: 1, default: { limits: [5/5m] } }');
  await gateway.printed(/policies_refused.*policies\.yaml:1:\d+: default\.limits\[0\]/);
  expect(await limitOf(gateway)).toBe(10);
  writeFileSync(file, policies(11));
  await holds(gateway, 11);
  expect(gateway.output().match(/policies_refused/g)).toHaveLength(1);
  const { body } = await call(gateway.opsUrl, '/metrics');
  expect(body).toContain('headgate_policy_reloads_total{result="error"} 1');
});

test('the files that a policy file refers to count as parts of it', async () => {
  const file = join(folder, 'policies.yaml');
  const keys = join(folder, 'keys.yaml');
  const ranges = join(folder, 'ranges.yaml');
  const key = (name: string) =>
    `- { id: ${name}, sha256: ${hash('sha256', name, 'hex')}, plan: pro }\n`;
  writeFileSync(ranges, 'checked: 2026-11-01\nranges: [192.0.2.0/24]\n');
  writeFileSync(file, policies(10));
  await using gateway = await startGateway({
    HEADGATE_POLICIES: file,
    HEADGATE_CLOUDFLARE_RANGES: ranges,
  });
  // Before there is such a file: making it is what mends the policies.
  const withKeys = `{ version: 1, identity: { api_key: { keys: keys.yaml } }, default: { limits: [11/1h], plans: { pro: [99/1h] } } }`;
  writeFileSync(file, withKeys);
  await gateway.printed(/policies_refused.*keys\.yaml: does not exist/);
  writeFileSync(keys, key('one'));
  await holds(gateway, 99, { 'x-api-key': 'one' });
  writeFileSync(keys, key('one') + key('two'));
  await holds(gateway, 99, { 'x-api-key': 'two' });

  const viaCdn = { 'x-headgate-peer-ip': '203.0.113.7', 'cf-connecting-ip': '192.0.2.1' };
  const left = async () => {
    const client = { 'x-headgate-client-ip': `198.51.${clients >> 8}.${clients++ & 255}` };
    const answer = await call(gateway.url, '/envoy/a', { headers: { ...client, ...viaCdn } });
    return Number(answer.headers['x-ratelimit-remaining']);
  };
  expect([await left(), await left()]).toEqual([10, 10]);
  writeFileSync(ranges, 'checked: 2026-11-01\nranges: [203.0.113.0/24]\n');
  // From now on all of them are one client.
  await expect.poll(left, { timeout: 4_000, interval: 10 }).toBeLessThan(10);
});
