/** `headgate check` of rate limit files, and `headgate explain --domain`: output and exit codes. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Circumstances, runCommand } from '../support/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-check-ratelimit-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const run = (args: readonly string[], circumstances: Circumstances = {}) =>
  runCommand(args, { cwd: folder, ...circumstances });
const check = (...args: string[]) => run(['check', ...args]);

const shop = `domain: shop
descriptors:
  - key: tenant
    rate_limit: { unit: minute, requests_per_unit: 10 }
  - key: path
    value: "*"
    rate_limit: { unit: minute, requests_per_unit: 20 }
`;
const good = file('good.yaml', shop);
const more = file('more.yaml', shop.replace('tenant', 'country').replace('"*"', '/a'));
const bad = file('bad.yaml', 'domain: bad\ndescriptors:\n  - key: a\n    rate_limits: {}\n');
const policies = file('policies.yaml', 'version: 1\ndefault: { limits: [5/5min] }\n');

for (const name of ['mounted', 'mounted/..v1', 'mounted/below', 'empty', 'other']) {
  mkdirSync(join(folder, name));
}
file('mounted/..v1/b.yaml', 'domain: b\n');
symlinkSync('..v1', join(folder, 'mounted/..data'));
symlinkSync('..data/b.yaml', join(folder, 'mounted/b.yaml'));
file('mounted/a.yml', 'domain: a\ndescriptors: [{ key: a, rate_limit: { unlimited: true } }]\n');
file('mounted/below/c.yaml', 'domain: a\n');
file('mounted/.hidden.yaml', 'nonsense\n');
file('mounted/.notes', 'nonsense\n');
file('other/policies.yaml', 'version: 1\ndefault: { limits: [5/5min] }\n');

describe('headgate check', () => {
  test('tells rate limit files from policy files', async () => {
    expect(await check(good, policies)).toEqual({
      code: 0,
      stdout: 'good.yaml: fine, 2 limits\npolicies.yaml: fine, the default alone\n',
      stderr: '',
    });
  });

  test('shows each finding with its line, and a verdict on each file', async () => {
    expect(await check(bad)).toEqual({
      code: 3,
      stdout: [
        'bad.yaml:4:5: error unknown-key: descriptors[0].rate_limits: is not a known key, did you mean "rate_limit"?',
        '        rate_limits: {}',
        '        ^',
        'bad.yaml: invalid, 1 error\n',
      ].join('\n'),
      stderr: '',
    });
  });

  test('examines the files of one command together', async () => {
    const { code, stdout } = await check(good, more);
    expect(code).toBe(3);
    expect(stdout).toContain(
      'more.yaml:1:9: error ratelimit-domain-twice: domain: is the domain of another file too',
    );
    expect(await check('--merge-domains', good, more)).toEqual({
      code: 0,
      stdout: 'good.yaml: fine, 2 limits\nmore.yaml: fine, 2 limits\n',
      stderr: '',
    });
    expect(await check(good, good, './/good.yaml')).toMatchObject({
      code: 0,
      stdout: 'good.yaml: fine, 2 limits\n',
    });
  });

  test('--strict treats warnings as errors', async () => {
    const odd = file('odd.yaml', 'domain: odd\ndescriptors: [{ key: a }]\n');
    expect((await check(odd)).code).toBe(0);
    expect((await check('--strict', odd)).code).toBe(3);
  });

  test('reads the files of a directory, each once', async () => {
    expect(await check('mounted')).toEqual({
      code: 3,
      stdout: [
        'mounted/a.yml: fine, 1 limit',
        'mounted/b.yaml: fine, 0 limits',
        'mounted/below/c.yaml:1:9: error ratelimit-domain-twice: domain: is the domain of another file too, put both into one or merge domains',
        '    domain: a',
        '            ^',
        'mounted/below/c.yaml: invalid, 1 error\n',
      ].join('\n'),
      stderr: '',
    });
  });

  test.each(['empty', 'other'])(
    'refuses a directory without rate limit files: %s',
    async (name) => {
      const { code, stdout } = await check(name);
      expect(code).toBe(3);
      expect(stdout).toContain(
        `${name}:1:1: error unreadable-file: cannot be read: it is a directory, name a file in it`,
      );
    },
  );

  test('reads standard input', async () => {
    expect(await run(['check', '-'], { input: shop })).toMatchObject({
      code: 0,
      stdout: '-: fine, 2 limits\n',
    });
  });

  test('prints JSON and annotations', async () => {
    const { stdout } = await check('-o', 'json', good, bad);
    const { files } = JSON.parse(stdout);
    expect(files).toEqual([
      { file: 'good.yaml', valid: true, policies: null, limits: 2, findings: [] },
      { file: 'bad.yaml', valid: false, policies: null, findings: expect.any(Array) },
    ]);
    expect(files[1].findings[0]).toMatchObject({ rule: 'unknown-key', line: 4, column: 5 });
    expect((await check('-o', 'github', bad)).stdout).toContain(
      '::error file=bad.yaml,line=4,col=5,title=unknown-key::descriptors[0].rate_limits: is not',
    );
  });

  test('escapes control characters of keys', async () => {
    const name = file('keys.yaml', 'domain: d\n"a\\e[31m\\u202e": 1\n');
    expect((await check(name)).stdout).toContain('a\\u{1b}[31m\\u{202e}: is not a known key');
  });
});

describe('headgate explain --domain', () => {
  const explain = (...args: string[]) => run(['explain', ...args]);
  const config = ['--ratelimit-config', good];

  test('says which limit applies', async () => {
    expect(await explain('--domain', 'shop', ...config, 'path=/a?b=c')).toEqual({
      code: 0,
      stdout: [
        'domain    "shop" is in the files',
        'entry     1 of 1, "path"="/a?b=c": this key and value are not in the file',
        '          1 of 1, "path"="/a?b=c": the wildcard "path_*" matches (the only one here)',
        'limit     shop.path_*: 20 requests per minute',
        'counted   by "shop", "path"="/a?b=c"',
        'metric    shop.path_*\n',
      ].join('\n'),
      stderr: '',
    });
  });

  test('reads several files, and directories, and prints JSON', async () => {
    const args = [...config, '--ratelimit-config', more, '--merge-domains', '-o', 'json'];
    const { stdout } = await explain('--domain', 'shop', ...args, 'path=/a');
    expect(JSON.parse(stdout).steps).toContainEqual({
      about: 'limit',
      what: 'shop.path_/a: 20 requests per minute',
    });
    const mounted = await explain('--domain', 'b', '--ratelimit-config', 'mounted', 'x=y');
    expect(mounted).toMatchObject({ code: 3, stderr: expect.stringContaining('below/c.yaml:1:9') });
  });

  test.each([
    [['--domain', 'd', ...config], 2, 'give the entries of the descriptor, as key=value'],
    [['--domain', 'd', ...config, '=a'], 2, '"=a" is no entry of a descriptor, write key=value'],
    [['--domain', 'd', 'a=b'], 2, 'give the rate limit files with --ratelimit-config'],
    [['--domain', 'd', ...config, '--url', '/', 'a=b'], 2, 'leave out --url'],
    [['--domain', 'd', ...config, '--live', 'a=b'], 2, 'leave out --url'],
    [['--domain', 'd', '--ratelimit-config', bad, 'a=b'], 3, 'bad.yaml:4:5: descriptors[0].rate'],
    [[...config, '--url', '/'], 2, 'rate limit files need the --domain'],
    [['--merge-domains', '--url', '/'], 2, 'rate limit files need the --domain'],
    [['one', 'two'], 2, 'give one id of a decision'],
  ])('%j is refused: exit code %i', async (args, code, said) => {
    expect(await explain(...args)).toMatchObject({ code, stderr: expect.stringContaining(said) });
  });
});
