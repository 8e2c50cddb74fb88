/** A running gateway reloads policy files, however they are replaced. */
import { hash } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-reload-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const policies = (limit: number, identity = '{}') =>
  `{ version: 1, identity: ${identity}, default: { limits: [${limit}/1h] } }`;

let clients = 0;
/** The limit of a new client. */
async function limitOf(
  gateway: GatewayProcess,
  headers: Record<string, string> = {},
): Promise<number> {
  const client = { 'x-headgate-client-ip': `198.51.${clients >> 8}.${clients++ & 255}` };
  const answer = await call(gateway.url, '/envoy/a', { headers: { ...client, ...headers } });
  return Number(answer.headers['x-ratelimit-limit']);
}

const holds = (gateway: GatewayProcess, limit: number, headers?: Record<string, string>) =>
  expect.poll(() => limitOf(gateway, headers), { timeout: 12_000, interval: 10 }).toBe(limit);

/** Like the kubelet: a new folder for each version, and a link that is renamed over the previous one. */
function mountVersion(version: number, text: string): void {
  const data = `..version-${version}`;
  mkdirSync(join(folder, data));
  writeFileSync(join(folder, data, 'policies.yaml'), text);
  symlinkSync(data, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  if (version > 0) rmSync(join(folder, `..version-${version - 1}`), { recursive: true });
}

test('loads each of 50 versions of a mounted ConfigMap', async () => {
  mountVersion(0, policies(1_000));
  const file = join(folder, 'policies.yaml');
  symlinkSync('..data/policies.yaml', file);
  await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
  for (let version = 1; version <= 50; version++) {
    mountVersion(version, policies(1_000 + version));
    await holds(gateway, 1_000 + version);
  }
  const { body } = await call(gateway.opsUrl, '/metrics');
  expect(body).toContain('headgate_policy_reloads_total{result="ok"} 50');
});

test('loads a file that is written in place, renamed over, or removed and created again', async () => {
  const file = join(folder, 'policies.yaml');
  writeFileSync(file, policies(10));
  await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
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

test('keeps the policies in force if the file has a mistake, and logs it once with its place', async () => {
  const file = join(folder, 'policies.yaml');
  writeFileSync(file, policies(10));
  await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
  writeFileSync(file, '{ version: 1, default: { limits: [5/5m] } }');
  await gateway.printed(/policies_refused.*policies\.yaml:1:\d+: default\.limits\[0\]/);
  expect(await limitOf(gateway)).toBe(10);
  writeFileSync(file, policies(11));
  await holds(gateway, 11);
  expect(gateway.output().match(/policies_refused/g)).toHaveLength(1);
  const { body } = await call(gateway.opsUrl, '/metrics');
  expect(body).toContain('headgate_policy_reloads_total{result="error"} 1');
});

test('reloads when a file changes that the policy file names', async () => {
  const file = join(folder, 'policies.yaml');
  const keys = join(folder, 'keys.yaml');
  const ranges = join(folder, 'ranges.yaml');
  const key = (name: string) =>
    `- { id: ${name}, sha256: ${hash('sha256', name, 'hex')}, plan: pro }\n`;
  writeFileSync(ranges, 'checked: 2026-11-01\nranges: [192.0.2.0/24]\n');
  writeFileSync(file, policies(10));
  await using gateway = await startGatewayProcess({
    HEADGATE_POLICIES: file,
    HEADGATE_CLOUDFLARE_RANGES: ranges,
  });
  // The key file does not exist yet. Creating it completes the policies.
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
  // Now they all are one client.
  await expect.poll(left, { timeout: 12_000, interval: 10 }).toBeLessThan(10);
});

describe('a file that may be half written', () => {
  const LISTED = 'the listed key';
  const head = (limit: number) =>
    `version: 1\nidentity: { sources: [api_key, ip], api_key: { keys: keys.yaml } }\ndefault: { limits: [${limit}/1h] }\n`;
  const policy = (name: string) =>
    `  - name: ${name}\n    match: { path: /${name} }\n    limits: [1/1h]\n    plans: { gold: [7/1h] }\n`;
  /** The beginning up to each policy is a valid file. */
  const whole = (limit: number, ...names: string[]) =>
    `${head(limit)}policies:\n${names.map(policy).join('')}`;
  const keys = `- { id: other, sha256: ${hash('sha256', 'other')} }\n- { id: a, sha256: ${hash('sha256', LISTED)}, plan: gold }\n`;
  let file: string;
  let keyFile: string;

  beforeEach(() => {
    file = join(folder, 'policies.yaml');
    keyFile = join(folder, 'keys.yaml');
    writeFileSync(keyFile, keys);
    writeFileSync(file, whole(100, 'search', 'login'));
  });

  /** Sends requests of a client without quota while the file is written. Returns how many passed. */
  async function passedWhile(gateway: GatewayProcess, write: () => Promise<void>): Promise<number> {
    const headers = { 'x-headgate-client-ip': '203.0.113.9' };
    const send = async () => (await call(gateway.url, '/envoy/login', { headers })).status;
    await send();
    expect(await send()).toBe(429);
    let isWriting = true;
    const writing = write().finally(() => {
      isWriting = false;
    });
    let passed = 0;
    while (isWriting) {
      if ((await send()) !== 429) passed++;
      await sleep(20);
    }
    await writing;
    return passed;
  }

  const slowly = async (path: string, parts: readonly string[], pauseMs: number) => {
    for (const part of parts) {
      appendFileSync(path, part);
      await sleep(pauseMs);
    }
  };
  const next = whole(200, 'search', 'register', 'login');
  const cut = next.indexOf('  - name: register');
  const halves = [next.slice(0, cut), next.slice(cut)];

  test.each<[string, () => Promise<void>]>([
    [
      'truncated, and written in two parts with a pause',
      async () => {
        writeFileSync(file, '');
        await slowly(file, halves, 1_500);
      },
    ],
    [
      'truncated, and written in two parts with a long pause',
      async () => {
        writeFileSync(file, '');
        await slowly(file, halves, 3_500);
      },
    ],
    [
      'written line by line',
      async () => {
        writeFileSync(file, '');
        await slowly(file, next.split(/(?<=\n)/), 120);
      },
    ],
    [
      'removed, and written again with a pause',
      async () => {
        rmSync(file);
        await sleep(300);
        await slowly(file, halves, 1_500);
      },
    ],
    [
      'renamed by an editor, and written again with a pause',
      async () => {
        renameSync(file, `${file}~`);
        await slowly(file, halves, 1_500);
      },
    ],
    [
      'already longer than before at the pause',
      async () => {
        writeFileSync(file, `# ${'x'.repeat(500)}\n`);
        await slowly(file, halves, 2_500);
      },
    ],
  ])('%s', async (_, write) => {
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
    expect(await passedWhile(gateway, write)).toBe(0);
    await holds(gateway, 200);
    await gateway.printed(/"event":"policies_loaded"/);
    expect(gateway.output().match(/"event":"policies_loaded"/g)).toHaveLength(1);
    expect(gateway.output()).not.toMatch(/policies_removed|policies_refused/);
  });

  test('the key file, while the policy file is renamed over', async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
    const limitOfKey = async () =>
      Number(
        (await call(gateway.url, '/envoy/search', { headers: { 'x-api-key': LISTED } })).headers[
          'x-ratelimit-limit'
        ],
      );
    expect(await limitOfKey()).toBe(7);
    const [first = '', second = ''] = keys.split(/(?<=\n)/);
    writeFileSync(keyFile, first);
    await sleep(300);
    writeFileSync(`${file}.next`, next);
    renameSync(`${file}.next`, file);
    for (let i = 0; i < 75; i++) {
      expect(await limitOfKey()).toBe(7);
      await sleep(20);
    }
    appendFileSync(keyFile, `${second}# more\n`);
    await holds(gateway, 200);
    expect(await limitOfKey()).toBe(7);
    await gateway.printed(/"event":"policies_loaded"/);
    expect(gateway.output().match(/"event":"policies_loaded"/g)).toHaveLength(1);
  });

  test('logs the names of policies that a file removes', async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
    writeFileSync(`${file}.next`, whole(300, 'login'));
    renameSync(`${file}.next`, file);
    await gateway.printed(/policies_removed[^\n]*\["search"\]/);
    expect(await limitOf(gateway)).toBe(300);
  });

  test('SIGHUP loads a file that never stops changing', async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
    writeFileSync(file, whole(300, 'login'));
    const writing = setInterval(() => appendFileSync(file, '# more\n'), 200);
    try {
      await sleep(1_000);
      expect(await limitOf(gateway)).toBe(100);
      gateway.signal('SIGHUP');
      await gateway.printed(/policies_removed[^\n]*\["search"\]/);
      expect(await limitOf(gateway)).toBe(300);
    } finally {
      clearInterval(writing);
    }
  });
});
