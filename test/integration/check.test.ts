/** `headgate check`: its outputs for people, programs and GitHub Actions, and its exit codes. */
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { type Circumstances, runCommand } from '../support/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-check-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

/** Runs it in the folder of the files. */
function check(args: readonly string[], circumstances: Circumstances = {}) {
  return runCommand(['check', ...args], { cwd: folder, ...circumstances });
}

const IDENTITY = 'identity: { sources: [api_key, ip] }';
const good = file('good.yaml', `version: 1\n${IDENTITY}\ndefault: { limits: [5/5min] }\n`);
const bad = file('bad.yaml', 'version: 1\ndefault: { limits: [5/5m] }\npolices: []\n');
const odd = file('odd.yaml', `version: 1\n${IDENTITY}\ndefault: { limits: [5/5min, 5/1min] }\n`);
const bucket = file(
  'bucket.yaml',
  `version: 1\n${IDENTITY}\ndefault: { limits: [{ rate: 500/1min, algorithm: token-bucket, burst: 20 }] }\n`,
);

describe('text output', () => {
  test('says that a valid file is fine', async () => {
    const stdout = 'good.yaml: fine, the default alone\n';
    expect(await check([good])).toEqual({ code: 0, stdout, stderr: '' });
  });

  test('shows each mistake with its line', async () => {
    expect(await check([bad])).toEqual({
      code: 3,
      stdout: [
        'bad.yaml:2:21: error invalid-value: default.limits[0]: "5/5m" is not a rate, write "5/5min"',
        '    default: { limits: [5/5m] }',
        '                        ^',
        'bad.yaml:3:1: error unknown-key: polices: is not a known key, did you mean "policies"?',
        '    polices: []',
        '    ^',
        'bad.yaml: invalid, 2 errors\n',
      ].join('\n'),
      stderr: '',
    });
  });

  test('exits with 0 if there are only warnings, and with 3 if --strict is set', async () => {
    const stdout = [
      'odd.yaml:3:29: warning limit-never-binds: default.limits[1]: never denies a request that 5/5min admits, remove it',
      '    default: { limits: [5/5min, 5/1min] }',
      '                                ^',
      'odd.yaml: fine, the default alone\n',
    ].join('\n');
    expect(await check([odd])).toEqual({ code: 0, stdout, stderr: '' });
    const stderr = 'headgate: --strict: 1 warning treated as errors\n';
    expect(await check(['--strict', odd])).toEqual({ code: 3, stdout, stderr });
  });

  test('--strict does not treat notes as errors', async () => {
    const { code, stdout } = await check(['--strict', bucket]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^bucket\.yaml:3:21: info bucket-bursts: .*\n {4}.*\n +\^\nbucket\.yaml: fine, the default alone\n$/,
    );
  });

  test('reports all files if one of them is invalid', async () => {
    for (const files of [
      [good, bad],
      [bad, good],
    ]) {
      const { code, stdout } = await check(files);
      expect(code).toBe(3);
      expect(stdout).toContain('good.yaml: fine, the default alone\n');
      expect(stdout).toContain('bad.yaml: invalid, 2 errors\n');
    }
  });

  test('reports all warnings at once', async () => {
    const path = file(
      'likely.yaml',
      `version: 1
matching: { case_sensitive: true }
identity:
  sources: [api_key, cf_connecting_ip, ip]
  api_key: { keys: [{ id: acme, sha256: ${hash('sha256', 'k', 'hex')}, plan: prp }] }
block: [{ address: 203.0.113.9, expires: 2026-01-01 }]
default: { limits: [1000/1h], plans: { pro: [2000/1h] } }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [5/5min] }
  - { name: search, match: { method: GTE, path: /search }, limits: [5/5min] }
`,
    );
    const ranges = file('old.yaml', 'checked: 2023-09-28\nranges: [173.245.48.0/20]\n');
    const { code, stdout } = await check([path], { env: { HEADGATE_CLOUDFLARE_RANGES: ranges } });
    expect(code).toBe(0);
    const begun = stdout
      .split('\n')
      .filter((line) => !line.startsWith(' '))
      .map((line) => line.split(': ').slice(0, 3).join(': '));
    expect(begun).toEqual([
      'likely.yaml:4:22: warning cloudflare-list-old: identity.sources[1]',
      'likely.yaml:5:113: warning plan-unknown: identity.api_key.keys[0].plan',
      'likely.yaml:6:9: warning entry-expired: block[0]',
      'likely.yaml:7:45: warning plan-unheld: default.plans.pro',
      'likely.yaml:9:49: warning lax-spelling: policies[0].match.path',
      'likely.yaml:10:38: warning method-never-sent: policies[1].match.method',
      'likely.yaml: fine, 2 policies and the default',
      '',
    ]);
  });

  test('escapes control characters', async () => {
    const path = file('hidden.yaml', 'version: 1\ndefault: { limits: ["5/\u202e\u009b5min"] }\n');
    expect((await check([path])).stdout).toContain('"5/\\u{202e}\\u{9b}5min" is not a rate');
  });
});

describe('reports a file that cannot be used:', () => {
  test('a file that does not exist', async () => {
    const { code, stdout } = await check(['nowhere.yaml', good]);
    expect(code).toBe(3);
    expect(stdout).toContain('nowhere.yaml:1:1: error unreadable-file: does not exist\n');
    expect(stdout).toContain('good.yaml: fine');
  });

  test('a directory', async () => {
    expect(await check(['.'])).toMatchObject({
      code: 3,
      stdout: expect.stringContaining(
        'error unreadable-file: cannot be read: it is a directory, name a file in it',
      ),
    });
  });

  test('a Kubernetes object, also in a directory with nothing else', async () => {
    mkdirSync(join(folder, 'objects'));
    const path = file(
      'objects/limits.yaml',
      'apiVersion: v1\nkind: ConfigMap\ndata:\n  limits.yaml: |\n    domain: edge\n',
    );
    for (const named of [path, 'objects']) {
      expect(await check([named])).toMatchObject({
        code: 3,
        stdout: expect.stringMatching(
          /^objects\/limits\.yaml:1:1: error invalid-yaml: this is a Kubernetes object \(ConfigMap\), not a (policy|rate limit) file: the limits are the text below its "data"/,
        ),
      });
    }
  });

  test('a key file with mistakes, at their places in the key file', async () => {
    const sha256 = hash('sha256', 'k', 'hex');
    file('doubled.yaml', `- { id: a, sha256: ${sha256} }\n- { id: b, sha256: ${sha256} }\n`);
    const path = file(
      'with-doubled.yaml',
      'version: 1\nidentity: { api_key: { keys: doubled.yaml } }\ndefault: { limits: [1/1h] }\n',
    );
    expect(await check([path])).toMatchObject({
      code: 3,
      stdout: expect.stringContaining(
        'doubled.yaml:2:20: error key-twice: [1].sha256: is listed twice, keep one of the entries\n',
      ),
    });
  });

  test('a list of Cloudflare networks that is invalid', async () => {
    const env = { HEADGATE_CLOUDFLARE_RANGES: file('no-list.yaml', 'ranges: all\n') };
    const { code, stdout } = await check([good], { env });
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^no-list\.yaml:1:1: error invalid-cloudflare-list: must have "checked"/,
    );
  });
});

test('- reads standard input, and finds the files that it names in the working directory', async () => {
  file('keys.yaml', '[]\n');
  const input = 'version: 1\nidentity: { sources: [api_key, ip], api_key: { keys: keys.yaml } }\n';
  expect(await check(['-'], { input: `${input}default: { limits: [5/5min] }\n` })).toMatchObject({
    code: 0,
    stdout: '-: fine, the default alone\n',
  });
  expect(await check(['-'], { input })).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('-:1:1: error missing-key: default: is missing'),
  });
});

describe('JSON output', () => {
  test('is one document, with nothing else on standard output', async () => {
    const { code, stdout, stderr } = await check(['-o', 'json', good, bad, odd, bucket]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' });
    const { files, ...counts } = JSON.parse(stdout);
    expect(counts).toEqual({ errors: 2, warnings: 1 });
    expect(
      files.map(({ findings, ...rest }: { findings: object[] }) => ({
        ...rest,
        findings: findings.length,
      })),
    ).toEqual([
      { file: 'good.yaml', valid: true, policies: 1, findings: 0 },
      { file: 'bad.yaml', valid: false, policies: null, findings: 2 },
      { file: 'odd.yaml', valid: true, policies: 1, findings: 1 },
      { file: 'bucket.yaml', valid: true, policies: 1, findings: 1 },
    ]);
    expect(files[1].findings[1]).toEqual({
      rule: 'unknown-key',
      severity: 'error',
      file: 'bad.yaml',
      line: 3,
      column: 1,
      path: 'polices',
      message: 'is not a known key, did you mean "policies"?',
    });
  });

  test('escapes control characters of file names', async () => {
    const name = 'a\u202eb\u009b\u{e0041}\n.yaml';
    const { stdout } = await check(['--output', 'json', name]);
    expect(stdout).not.toMatch(/[^\P{C}\n]/u);
    expect(JSON.parse(stdout).files[0]).toMatchObject({ file: name, valid: false });
  });

  test('is a document for a valid file too', async () => {
    expect(JSON.parse((await check(['-o', 'json', good])).stdout)).toMatchObject({
      errors: 0,
      warnings: 0,
    });
  });
});

describe('GitHub output', () => {
  test('is one command for each finding, and nothing for a valid file', async () => {
    expect(await check(['-o', 'github', good, bad, odd, bucket])).toEqual({
      code: 3,
      stdout: [
        '::error file=bad.yaml,line=2,col=21,title=invalid-value::default.limits[0]: "5/5m" is not a rate, write "5/5min"',
        '::error file=bad.yaml,line=3,col=1,title=unknown-key::polices: is not a known key, did you mean "policies"?',
        '::warning file=odd.yaml,line=3,col=29,title=limit-never-binds::default.limits[1]: never denies a request that 5/5min admits, remove it',
        '::notice file=bucket.yaml,line=3,col=21,title=bucket-bursts::default.limits[0]: token-bucket admits bursts by design: up to 519 units in 1min\n',
      ].join('\n'),
      stderr: '',
    });
  });

  test('escapes file names and messages, so that they cannot add commands', async () => {
    const text = 'version: 1\ndefault: { limits: ["5%0A/\\r\\n::error::m"] }\n';
    const name = file('a,b:c%\n::error::d.yaml', text);
    const { stdout } = await check(['-o', 'github', name]);
    expect(stdout).toBe(
      '::error file=a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3Ad.yaml,line=2,col=21,title=invalid-value::' +
        'default.limits[0]: "5%250A/\\u{d}\\u{a}::error::m" is not a rate, write requests/window with the unit s, min, h or d, or with day, week, month or year, as in "5/5min" or "10000/month"\n',
    );
  });
});

test.each([[['-o', 'xml', good]], [['-o', 'json', '--redis', good]], [['--polices', good]]])(
  '%j is a usage error: exit code 2, and nothing on standard output',
  async (args) => {
    const { code, stdout, stderr } = await check(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: /);
  },
);

test('an invalid setting is reported on standard error, with nothing on standard output', async () => {
  const { code, stdout, stderr } = await check(['-o', 'json', good], {
    env: { HEADGATE_PORT: 'http' },
  });
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toContain('HEADGATE_PORT: must be a port');
});

test('a list of Cloudflare networks that was checked recently is fine', async () => {
  const checked = new Date().toISOString().slice(0, 10);
  const ranges = file('ranges.yaml', `checked: ${checked}\nranges: [173.245.48.0/20]\n`);
  const shipped = fileURLToPath(new URL('../../config/policies.yaml', import.meta.url));
  const { stdout } = await check([shipped], { env: { HEADGATE_CLOUDFLARE_RANGES: ranges } });
  expect(stdout).toBe(`${shipped}: fine, 5 policies and the default\n`);
});

test('without a file, it checks the file that serve reads', async () => {
  expect(await check([], { env: { HEADGATE_POLICIES: good } })).toMatchObject({
    code: 0,
    stdout: 'good.yaml: fine, the default alone\n',
  });
  expect((await check([], { env: { HEADGATE_POLICIES: undefined } })).stdout).toContain(
    'config/policies.yaml: fine, 5 policies and the default\n',
  );
});

test('--strict accepts the shipped file even if its list of networks is old, and files without Cloudflare', async () => {
  const shipped = fileURLToPath(new URL('../../config/policies.yaml', import.meta.url));
  expect(await check(['--strict', shipped, good])).toMatchObject({ code: 0, stderr: '' });
  const sources = 'identity: { sources: [cf_connecting_ip, ip] }';
  const cloudflare = file('cf.yaml', `version: 1\n${sources}\ndefault: { limits: [5/5min] }\n`);
  const ranges = file('own.yaml', 'checked: 2023-09-28\nranges: [173.245.48.0/20]\n');
  const env = { HEADGATE_CLOUDFLARE_RANGES: ranges };
  expect((await check(['--strict', cloudflare], { env })).code).toBe(3);
  expect((await check(['--strict', good], { env })).code).toBe(0);
});

test('shows the line of a finding unless the line may hold a secret', async () => {
  const long = `${'x'.repeat(500)}: 1`;
  const path = file('shown.yaml', `version: 1\ndefault:\n  limits: [1/1h]\n policies: []\n`);
  expect((await check([path])).stdout).toContain('\n     policies: []\n    ^\n');
  const wide = file('wide.yaml', `version: 1\ndefault: { limits: [1/1h] }\n${long}\n`);
  expect(
    Math.max(...(await check([wide])).stdout.split('\n').map(({ length }) => length)),
  ).toBeLessThan(300);
  const key = 'identity: { api_key: { keys: [{ id: a, sha256: my-secret-key }] } }';
  const secret = file('secret.yaml', `version: 1\n${key}\ndefault: { limits: [1/1h] }\n`);
  expect((await check([secret])).stdout).not.toContain('my-secret-key');
  file('odd-keys.yaml', '- { id: a, sha256: my-secret-key\n');
  const named = 'identity: { api_key: { keys: odd-keys.yaml } }';
  const elsewhere = file('elsewhere.yaml', `version: 1\n${named}\ndefault: { limits: [1/1h] }\n`);
  expect((await check([elsewhere])).stdout).not.toContain('my-secret-key');
});

test('--rules prints the rules', async () => {
  const { code, stdout } = await check(['--rules']);
  expect(code).toBe(0);
  expect(stdout).toContain('| `limit-never-binds` |');
});
