/** A running gateway reloads policy files, however they are replaced. The tests mostly wait, so they run side by side. */
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
import { describe, type ExpectStatic, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { eventually, waitUntil } from '../support/eventually.ts';
import { type Gateway, startGateway, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';

const WITHIN_MS = 60_000;

/** A new folder, until the disposal. */
function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-reload-'));
  return {
    path: (name: string) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
type Folder = ReturnType<typeof newFolder>;

const startWith = (policies: string, env: NodeJS.ProcessEnv = {}) =>
  startGateway({ HEADGATE_POLICIES: policies, ...env }, { reloads: true });

const policies = (limit: number) => `{ version: 1, default: { limits: [${limit}/1h] } }`;

let clients = 0;
function newClient() {
  clients++;
  return { 'x-headgate-client-ip': `198.51.${clients >> 8}.${clients & 255}` };
}

/** A header of the answer to a new client. */
async function headerOf(gateway: Gateway, name: string, headers = {}): Promise<number> {
  const answer = await call(gateway.url, '/envoy/a', { headers: { ...newClient(), ...headers } });
  return Number(answer.headers[name]);
}

const limitOf = (gateway: Gateway, headers = {}) => headerOf(gateway, 'x-ratelimit-limit', headers);

async function hasLimit(gateway: Gateway, limit: number, headers = {}): Promise<void> {
  await eventually(
    () => limitOf(gateway, headers),
    (now) => now === limit,
    WITHIN_MS,
    `the limit ${limit}`,
  );
}

const loads = (gateway: Gateway) => gateway.output().match(/"event":"policies_loaded"/g);

const LISTED = 'the listed key';
const head = (limit: number) =>
  `version: 1\nidentity: { sources: [api_key, ip], api_key: { keys: keys.yaml } }\ndefault: { limits: [${limit}/1h] }\n`;
const policy = (name: string) =>
  `  - name: ${name}\n    match: { path: /${name} }\n    limits: [1/1h]\n    plans: { gold: [7/1h] }\n`;
/** The text up to the end of any policy is a valid file too. */
const whole = (limit: number, ...names: string[]) =>
  `${head(limit)}policies:\n${names.map(policy).join('')}`;
const KEYS = `- { id: other, sha256: ${hash('sha256', 'other')} }\n- { id: a, sha256: ${hash('sha256', LISTED)}, plan: gold }\n`;

/** Writes a policy file and its key file. Returns the path of the policy file. */
function writeBoth(folder: Folder): string {
  const file = folder.path('policies.yaml');
  writeFileSync(folder.path('keys.yaml'), KEYS);
  writeFileSync(file, whole(100, 'search', 'login'));
  return file;
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.next`, text);
  renameSync(`${file}.next`, file);
}

/** Returns how much longer a pause between two parts was on a busy machine, in milliseconds. */
async function slowly(path: string, parts: readonly string[], pauseMs: number): Promise<number> {
  let mostMs = 0;
  for (const [i, part] of parts.entries()) {
    const startedMs = performance.now();
    appendFileSync(path, part);
    await sleep(pauseMs);
    if (i < parts.length - 1) mostMs = Math.max(mostMs, performance.now() - startedMs);
  }
  return mostMs - pauseMs;
}

/** Sends requests of a client without quota while the file is written. Returns how many passed, and what `write` returns. */
async function passedWhile<T>(gateway: Gateway, write: () => Promise<T>) {
  const headers = { 'x-headgate-client-ip': '203.0.113.9' };
  const send = async () => (await call(gateway.url, '/envoy/login', { headers })).status;
  await send();
  let isWriting = true;
  const writing = write().finally(() => {
    isWriting = false;
  });
  let passed = 0;
  while (isWriting) {
    if ((await send()) !== 429) passed++;
    await sleep(20);
  }
  return { passed, written: await writing };
}

const NEXT = whole(200, 'search', 'register', 'login');
const CUT = NEXT.indexOf('  - name: register');
const HALVES = [NEXT.slice(0, CUT), NEXT.slice(CUT)];

/** A pause of 1.5 seconds that is half a second longer is the end of a replaced file. */
const MAX_LATE_MS = 400;
const MAX_ATTEMPTS = 8;

/**
 * Pauses over 2 seconds let the gateway read the half that is there. It waits 5 seconds, because a policy is missing. Each
 * returns how much longer a pause was than it should be.
 */
const WRITES: Readonly<Record<string, (file: string) => Promise<number>>> = {
  async 'truncated, and written in two parts with a long pause'(file) {
    writeFileSync(file, '');
    return slowly(file, HALVES, 3_000);
  },
  async 'already longer than before at the pause'(file) {
    writeFileSync(file, `# ${'x'.repeat(500)}\n`);
    return slowly(file, HALVES, 2_500);
  },
  async 'truncated, and written in two parts with a pause'(file) {
    writeFileSync(file, '');
    return slowly(file, HALVES, 1_500);
  },
  async 'removed, and written again with a pause'(file) {
    rmSync(file);
    await sleep(300);
    return slowly(file, HALVES, 1_500);
  },
  async 'renamed by an editor, and written again with a pause'(file) {
    renameSync(file, `${file}~`);
    return slowly(file, HALVES, 1_500);
  },
  async 'written line by line'(file) {
    writeFileSync(file, '');
    return slowly(file, NEXT.split(/(?<=\n)/), 120);
  },
};

describe.concurrent('a policy file that may be half written is loaded only when it is whole', () => {
  test.for(Object.entries(WRITES))('%s', async ([, write], { expect }) => {
    for (let attempt = 1; !(await isLoadedOnce(write, expect)); attempt++)
      expect(attempt, 'attempts, because pauses were too long').toBeLessThan(MAX_ATTEMPTS);
  });

  /** False if the machine was so busy that the file rightly counted as complete. */
  async function isLoadedOnce(write: (file: string) => Promise<number>, expect: ExpectStatic) {
    using folder = newFolder();
    const file = writeBoth(folder);
    await using gateway = await startWith(file);
    const { passed, written: lateMs } = await passedWhile(gateway, () => write(file));
    if (lateMs >= MAX_LATE_MS) return false;
    expect(passed).toBe(0);
    await hasLimit(gateway, 200);
    await gateway.printed(/"event":"policies_loaded"/);
    expect(loads(gateway)).toHaveLength(1);
    expect(gateway.output()).not.toMatch(/policies_removed|policies_refused/);
    return true;
  }

  test('the key file is half written while the policy file is replaced', async ({ expect }) => {
    using folder = newFolder();
    const file = writeBoth(folder);
    await using gateway = await startWith(file);
    const ofKey = { headers: { 'x-api-key': LISTED } };
    const limitOfKey = async () =>
      Number((await call(gateway.url, '/envoy/search', ofKey)).headers['x-ratelimit-limit']);
    const [first = '', second = ''] = KEYS.split(/(?<=\n)/);
    writeFileSync(folder.path('keys.yaml'), first);
    await sleep(300);
    replaceFile(file, NEXT);
    // Long enough to load a replaced file, but not one that became shorter.
    for (const endMs = Date.now() + 1_500; Date.now() < endMs; ) {
      expect(await limitOfKey()).toBe(7);
      await sleep(20);
    }
    appendFileSync(folder.path('keys.yaml'), `${second}# more\n`);
    await hasLimit(gateway, 200);
    expect(await limitOfKey()).toBe(7);
    await gateway.printed(/"event":"policies_loaded"/);
    expect(loads(gateway)).toHaveLength(1);
  });
});

/** As the kubelet does: a new folder for each version, and a link that is renamed over the previous one. */
function mountVersion(folder: Folder, version: number): void {
  const data = `..version-${version}`;
  mkdirSync(folder.path(data));
  writeFileSync(folder.path(`${data}/policies.yaml`), policies(1_000 + version));
  symlinkSync(data, folder.path('..data_tmp'));
  renameSync(folder.path('..data_tmp'), folder.path('..data'));
  if (version > 0) rmSync(folder.path(`..version-${version - 1}`), { recursive: true });
}

describe.concurrent('a changed policy file', () => {
  test('is loaded if it is written in place, renamed over, or removed and created again', async ({
    expect,
  }) => {
    using folder = newFolder();
    const file = folder.path('policies.yaml');
    writeFileSync(file, policies(10));
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
    writeFileSync(file, policies(11));
    await hasLimit(gateway, 11);
    replaceFile(file, policies(12));
    await hasLimit(gateway, 12);
    rmSync(file);
    await gateway.printed(/policies_refused.*policies\.yaml: does not exist/);
    expect(await limitOf(gateway)).toBe(12);
    writeFileSync(file, policies(13));
    await hasLimit(gateway, 13);
  });

  test('is loaded in each of 20 versions of a mounted ConfigMap', async ({ expect }) => {
    using folder = newFolder();
    mountVersion(folder, 0);
    symlinkSync('..data/policies.yaml', folder.path('policies.yaml'));
    await using gateway = await startWith(folder.path('policies.yaml'));
    for (let version = 1; version <= 20; version++) {
      mountVersion(folder, version);
      await hasLimit(gateway, 1_000 + version);
    }
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toContain('headgate_policy_reloads_total{result="ok"} 20');
  });

  test('is refused if it has a mistake, which is logged once with its place', async ({
    expect,
  }) => {
    using folder = newFolder();
    const file = folder.path('policies.yaml');
    writeFileSync(file, policies(10));
    await using gateway = await startWith(file);
    writeFileSync(file, '{ version: 1, default: { limits: [5/5m] } }');
    await gateway.printed(/policies_refused.*policies\.yaml:1:\d+: default\.limits\[0\]/);
    expect(await limitOf(gateway)).toBe(10);
    const stats = async () => (await runCommand(['stats', '--gateway', gateway.opsUrl])).stdout;
    expect(await stats()).toMatch(
      /^refused +a policy file at .* UTC, the one before stays: .*policies\.yaml:1:\d+: default\.limits\[0\]/m,
    );
    writeFileSync(file, policies(11));
    await hasLimit(gateway, 11);
    expect(await stats()).not.toContain('refused');
    expect(gateway.output().match(/policies_refused/g)).toHaveLength(1);
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toContain('headgate_policy_reloads_total{result="error"} 1');
  });

  test('removes policies, whose names are logged', async ({ expect }) => {
    using folder = newFolder();
    const file = writeBoth(folder);
    await using gateway = await startWith(file);
    replaceFile(file, whole(300, 'login'));
    await gateway.printed(/policies_removed[^\n]*\["search"\]/);
    expect(await limitOf(gateway)).toBe(300);
  });

  test('is loaded by SIGHUP even if it never stops changing', async ({ expect }) => {
    using folder = newFolder();
    const file = writeBoth(folder);
    await using gateway = await startGatewayProcess({ HEADGATE_POLICIES: file });
    writeFileSync(file, whole(300, 'login'));
    let changes = 0;
    const writing = setInterval(() => {
      appendFileSync(file, '# more\n');
      changes++;
    }, 200);
    try {
      await waitUntil('the file has changed five times', async () => changes >= 5);
      expect(await limitOf(gateway)).toBe(100);
      gateway.signal('SIGHUP');
      await gateway.printed(/policies_removed[^\n]*\["search"\]/);
      expect(await limitOf(gateway)).toBe(300);
    } finally {
      clearInterval(writing);
    }
  });
});

test.concurrent('rate limit files are loaded by SIGHUP, as policies are', async () => {
  using folder = newFolder();
  mkdirSync(folder.path('rules'));
  const file = folder.path('rules/edge.yaml');
  const rule = (key: string) =>
    `  - { key: ${key}, rate_limit: { unit: hour, requests_per_unit: 1 } }\n`;
  const whole = `domain: edge\ndescriptors:\n${rule('one')}`;
  writeFileSync(file, whole);
  await using gateway = await startGatewayProcess({
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_RATELIMIT_CONFIG: folder.path('rules'),
  });
  let changes = 0;
  // It never stops changing, so it would not be loaded without a signal.
  const writing = setInterval(() => {
    appendFileSync(file, changes === 0 ? rule('two') : '# more\n');
    changes++;
  }, 200);
  try {
    await waitUntil('the file has changed five times', async () => changes >= 5);
    gateway.signal('SIGHUP');
    await gateway.printed(/"event":"rate_limits_loaded","limits":2/);
  } finally {
    clearInterval(writing);
  }
});

describe.concurrent('the policies are reloaded', () => {
  test('when the key file is created or changes', async () => {
    using folder = newFolder();
    const file = folder.path('policies.yaml');
    const key = (name: string) => `- { id: ${name}, sha256: ${hash('sha256', name)}, plan: pro }\n`;
    writeFileSync(file, policies(10));
    await using gateway = await startWith(file);
    writeFileSync(
      file,
      '{ version: 1, identity: { api_key: { keys: keys.yaml } }, default: { limits: [11/1h], plans: { pro: [99/1h] } } }',
    );
    await gateway.printed(/policies_refused.*keys\.yaml: does not exist/);
    writeFileSync(folder.path('keys.yaml'), key('one'));
    await hasLimit(gateway, 99, { 'x-api-key': 'one' });
    writeFileSync(folder.path('keys.yaml'), key('one') + key('two'));
    await hasLimit(gateway, 99, { 'x-api-key': 'two' });
  });

  test('when the page of answers changes, and not while it is missing or too long', async ({
    expect,
  }) => {
    using folder = newFolder();
    const [file, page] = [folder.path('policies.yaml'), folder.path('denied.html')];
    writeFileSync(page, '<p>first');
    writeFileSync(
      file,
      '{ version: 1, answers: { page: denied.html }, default: { limits: [1/1h] } }',
    );
    await using gateway = await startWith(file);
    const headers = { ...newClient(), accept: 'text/html' };
    const shown = async () => (await call(gateway.url, '/envoy/a', { headers })).body;
    const shows = (text: string) =>
      eventually(shown, (body) => body === `${text}\n`, WITHIN_MS, `the page ${text}`);
    await shows('<p>first');
    replaceFile(page, '<p>second');
    await shows('<p>second');
    rmSync(page);
    await gateway.printed(/policies_refused[^\n]*denied\.html: does not exist; answers\.page/);
    expect(await shown()).toBe('<p>second\n');
    replaceFile(page, `<p>${'x'.repeat(8_192)}`);
    await gateway.printed(/policies_refused[^\n]*answers\.page: may have 8195 bytes/);
    expect(await shown()).toBe('<p>second\n');
    replaceFile(page, '<p>third');
    await shows('<p>third');
  });

  test('when the file of the Cloudflare networks changes', async ({ expect }) => {
    using folder = newFolder();
    const [file, ranges] = [folder.path('policies.yaml'), folder.path('ranges.yaml')];
    writeFileSync(file, policies(10));
    writeFileSync(ranges, 'checked: 2026-11-01\nranges: [192.0.2.0/24]\n');
    await using gateway = await startWith(file, { HEADGATE_CLOUDFLARE_RANGES: ranges });
    const viaCdn = { 'x-headgate-peer-ip': '203.0.113.7', 'cf-connecting-ip': '192.0.2.1' };
    const remaining = () => headerOf(gateway, 'x-ratelimit-remaining', viaCdn);
    expect([await remaining(), await remaining()]).toEqual([9, 9]);
    writeFileSync(ranges, 'checked: 2026-11-01\nranges: [203.0.113.0/24]\n');
    // All requests are now those of one client.
    await eventually(remaining, (now) => now < 9, WITHIN_MS, 'one client');
  });
});
