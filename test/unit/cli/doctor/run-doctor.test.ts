/** The whole of `doctor`: in which order it speaks, how it counts, and its exit code. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DoctorFlags, doctor } from '../../../../src/cli/doctor/run-doctor.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { answering } from './local-answers.ts';

const GOOD = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100/1min] }
policies: [{ name: login, match: { path: /login }, limits: [5/1min] }]
`;

beforeEach(() => {
  // Any free ports.
  vi.stubEnv('HEADGATE_PORT', '0');
  vi.stubEnv('HEADGATE_OPS_PORT', '0');
  vi.stubEnv('HEADGATE_GRPC_PORT', 'off');
  vi.stubEnv('NO_COLOR', '1');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

interface Examined {
  readonly policies?: string;
  readonly proxyFiles?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: Partial<DoctorFlags>;
}

/** What it printed, and the exit code; 0 if it set none. */
async function run({ policies = GOOD, proxyFiles = {}, env = {}, flags = {} }: Examined = {}) {
  using stack = new DisposableStack();
  const folder = temporaryFolder(stack);
  const file = join(folder, 'policies.yaml');
  writeFileSync(file, policies);
  for (const [name, text] of Object.entries(proxyFiles)) writeFileSync(join(folder, name), text);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const out: string[] = [];
  const complaints: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((text: string) => out.push(...text.split('\n')));
  vi.spyOn(console, 'error').mockImplementation((text: string) => complaints.push(text));
  process.exitCode = undefined;
  await doctor({
    ...{ output: 'text', policies: file, ...flags },
    proxyFile: Object.keys(proxyFiles).map((name) => join(folder, name)),
  });
  const code = process.exitCode ?? 0;
  return { out: out.map((line) => line.replaceAll(`${folder}/`, '')), complaints, code };
}

const findingsIn = (out: readonly string[]) =>
  out.flatMap(
    (line) => /: (error|warning|info|fine) ([\w-]+): /.exec(line)?.slice(1, 3).join(' ') ?? [],
  );

/** The machine of a test may allow few open files. */
const withoutFiles = (findings: readonly string[]) =>
  findings.filter((each) => !each.endsWith('open-files'));

test('the parts come in order, and the last line counts errors and warnings', async () => {
  const { out, code, complaints } = await run();
  expect(withoutFiles(findingsIn(out))).toEqual([
    'fine node',
    'fine policy-file',
    'fine port',
    'fine port',
  ]);
  expect(out.at(-1)).toMatch(/^0 errors, [01] warnings?$/);
  expect(out).toContain('policies.yaml: fine policy-file: valid: 1 policy and the default');
  expect([code, complaints]).toEqual([0, []]);
});

test('a warning is counted, has its remedy on the next line, and is no failure', async () => {
  const { out, code } = await run({ env: { HEADGATE_HOST: '0.0.0.0' } });
  const at = out.indexOf(
    'HEADGATE_HOST: warning open-check-port: 0.0.0.0 is open to others, without a secret',
  );
  expect(out[at + 1]).toMatch(/^ {4}Set `HEADGATE_PROXY_SECRET`, or /);
  expect(out.at(-1)).toMatch(/^0 errors, [12] warnings?$/);
  expect(code).toBe(0);
});

test('a mistake in a setting has its name, and the rest is examined', async () => {
  const { out, code } = await run({ env: { HEADGATE_DRAIN_MS: 'soon' } });
  expect(out.filter((line) => line.includes(' error '))).toEqual([
    expect.stringMatching(/^HEADGATE_DRAIN_MS: error invalid-setting: (?!HEADGATE)\S/),
  ]);
  expect(findingsIn(out)).toContain('fine policy-file');
  expect(out.at(-1)).toMatch(/^1 error, /);
  expect(code).toBe(3);
});

test('a policy file with a mistake is an error of the configuration', async () => {
  const { out, code } = await run({ policies: GOOD.replace('5/1min', 'five') });
  expect(out.find((line) => line.includes(' error '))).toMatch(/^policies.yaml:4:\d+: error /);
  expect(findingsIn(out)).not.toContain('fine policy-file');
  expect(code).toBe(3);
});

test('no Redis is an error only if one is wanted', async () => {
  const wanted = await run({ flags: { redis: true } });
  expect(wanted.out).toContain('HEADGATE_REDIS_URL: error no-redis: is not set');
  expect(wanted.code).toBe(3);
  expect((await run()).out.join()).not.toContain('no-redis');
});

test('an error of a running program alone has another exit code', async () => {
  await using other = await answering(() => ({ body: 'hello' }));
  const env = { HEADGATE_PORT: String(other.port) };
  const running = await run({ env });
  expect(findingsIn(running.out)).toContain('error port-taken');
  expect(running.code).toBe(1);
  const both = await run({ env, flags: { redis: true } });
  expect(both.out.at(-1)).toMatch(/^2 errors, /);
  expect(both.code).toBe(3);
});

test('a proxy file that cannot be read, or is no file of a proxy, is named', async () => {
  const { out, code } = await run({ proxyFiles: { 'a.conf': 'hello', 'b.conf': 'world' } });
  const errors = out.filter((line) => / (error|warning) /.test(line) && /^[ab].conf/.test(line));
  expect(errors.map((line) => line.slice(0, 6))).toEqual(['a.conf', 'b.conf']);
  expect(code).toBe(3);
});

test('JSON has the findings, and their numbers', async () => {
  const { out, code } = await run({
    policies: GOOD.replace('5/1min', 'five'),
    flags: { output: 'json', redis: true },
  });
  const { findings, errors, warnings } = JSON.parse(out.join('\n'));
  expect(errors).toBe(2);
  const severities = findings.map(({ severity }: { severity: string }) => severity);
  expect(severities.filter((each: string) => each === 'error')).toHaveLength(2);
  expect(severities.filter((each: string) => each === 'warning')).toHaveLength(warnings);
  expect(findings.at(-1)).toEqual({
    ...{ id: 'no-redis', severity: 'error', subject: 'HEADGATE_REDIS_URL' },
    ...{ problem: 'is not set', remedy: 'Set `HEADGATE_REDIS_URL`.' },
  });
  expect(findings[0]).toMatchObject({ id: 'node', severity: 'fine', subject: 'Node', remedy: '' });
  expect(code).toBe(3);
});

const LIMITED = { 'x-ratelimit-limit': '100', 'x-ratelimit-mode': 'open' };

test('before it sends requests, it says which', async () => {
  const asked: unknown[] = [];
  await using proxy = await answering(({ url, method, headers }) => {
    asked.push([method, url, headers.host, headers.authorization]);
    return { headers: LIMITED };
  });
  const through = new URL(`${proxy.url}/shop`);
  const { out, complaints } = await run({ flags: { through } });
  expect(complaints).toEqual([
    `headgate: sends at most 22 GET requests to ${through.href}, and a HEAD request to /login`,
  ]);
  expect(findingsIn(out)).toContain('warning store-down');
  // No gateway tells which file it serves, so the paths of this one are asked.
  expect(asked).toEqual([
    ['GET', '/shop', `127.0.0.1:${proxy.port}`, undefined],
    ['HEAD', '/login', `127.0.0.1:${proxy.port}`, undefined],
  ]);
});

test('the user of the URL is sent, and not printed; the host is that of another site', async () => {
  const asked: unknown[] = [];
  await using proxy = await answering(({ headers }) => {
    asked.push([headers.host, headers.authorization]);
    return { headers: LIMITED };
  });
  const through = new URL(`http://me:p%40ss@127.0.0.1:${proxy.port}/shop`);
  const { out, complaints } = await run({
    policies: GOOD.replace('/login', '/login/*'),
    flags: { through, host: 'shop.example' },
  });
  const basic = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
  expect(asked).toEqual([['shop.example', basic]]);
  expect(complaints).toEqual([
    `headgate: sends at most 22 GET requests to ${proxy.url}/shop for shop.example`,
  ]);
  expect(out.join()).not.toMatch(/p%40ss|p@ss|Basic/);
});

test('keys: redis without a Redis is a warning', async () => {
  const policies = GOOD.replace(
    'sources: [ip]',
    'sources: [api_key, ip], api_key: { keys: redis }',
  );
  const { out, code } = await run({ policies });
  expect(out).toContain(
    'HEADGATE_REDIS_URL: warning keys-not-kept: is not set, and keys: redis needs it',
  );
  expect(code).toBe(0);
  expect(findingsIn((await run()).out)).not.toContain('warning keys-not-kept');
});
