/** A link or an include can name any file of the machine. headgate does not print what such a file says. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';

const NOT_SHOWN = 'mistakes that are not shown';
const SECRET = '$6$planted';
const PRIVATE_TEXTS: Readonly<Record<string, string>> = {
  shadow: `root:${SECRET}:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n`,
  environment: `PASSWORD=${SECRET}\n`,
  key: `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----\n`,
  word: SECRET,
  alias: `*${SECRET}`,
  yaml: `${SECRET}: 1\npassword: "${SECRET}"\n`,
  'broken yaml': `[ ${SECRET}: {\n`,
  braces: `} ${SECRET} {`,
};
const KINDS = ['nginx', 'ingress-nginx', 'traefik', 'kong'];
const POLICIES = 'version: 1\ndefault: { limits: [1/1h] }\nsurprise: 1\n';

const root = mkdtempSync(join(tmpdir(), 'headgate-linked-'));
const folder = join(root, 'project');
const here = (name: string) => join(folder, name);

beforeAll(() => void mkdirSync(folder));
afterAll(() => rmSync(root, { recursive: true }));

async function outputOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { cwd: root });
  expect(code).not.toBe(0);
  return stdout + stderr;
}

describe.each(Object.entries(PRIVATE_TEXTS))('a link to a file elsewhere: %s', (name, text) => {
  const target = join(root, name);
  const linked = [here(`${name}.yaml`), here(`${name}_test.yaml`)];
  beforeAll(() => {
    writeFileSync(target, text);
    writeFileSync(`${target}.yaml`, text);
    for (const link of linked) symlinkSync(target, link);
  });

  test.each(['check', 'check --output json', 'check --output github'])('%s', async (command) => {
    const output = await outputOf(...command.split(' '), here(`${name}.yaml`));
    expect(output).not.toContain(SECRET);
  });
  test('check, by a relative path', async () => {
    expect(await outputOf('check', `project/${name}.yaml`)).not.toContain(SECRET);
  });
  test('test', async () => {
    expect(await outputOf('test', here(`${name}_test.yaml`))).not.toContain(SECRET);
  });
  test('check, of a policy file that names it as its list of keys', async () => {
    const file = here(`${name}-keys.yaml`);
    for (const keys of [`../${name}.yaml`, `${name}.yaml`, `./${name}.yaml`]) {
      writeFileSync(
        file,
        `version: 1\nidentity: { api_key: { keys: "${keys}" } }\ndefault: { limits: [1/1h] }\n`,
      );
      expect(await outputOf('check', file)).not.toContain(SECRET);
    }
  });
  test('test, of a test file that names it as its policy file', async () => {
    const file = here(`${name}-policies_test.yaml`);
    for (const policies of [`../${name}.yaml`, `${target}.yaml`, `${name}.yaml`]) {
      writeFileSync(
        file,
        `policies: "${policies}"\nclients: { a: { ip: 192.0.2.1 } }\ntests: [{ name: a, steps: [{ request: GET / }] }]\n`,
      );
      const output = await outputOf('test', file);
      expect(output).toContain(NOT_SHOWN);
      expect(output).not.toContain(SECRET);
    }
  });
  test.each(KINDS)('import %s', async (kind) => {
    expect(await outputOf('import', kind, here(`${name}.yaml`))).not.toContain(SECRET);
  });
  test('import nginx, of a file that includes it', async () => {
    const file = here(`${name}.conf`);
    writeFileSync(file, `http {\n  include "${target}";\n  include "${linked[0]}";\n}\n`);
    const output = await outputOf('import', 'nginx', file);
    expect(output).not.toContain(SECRET);
  });
});

test('says what to do', async () => {
  expect(await outputOf('check', here('shadow.yaml'))).toContain('name that file itself');
  const lines = await outputOf('import', 'nginx', here('shadow.conf'));
  expect(lines).toContain('shadow.conf:2:3: shadow has mistakes');
});

test('shows the lines of a file that is named itself', async () => {
  const output = await outputOf('check', join(root, 'shadow'));
  expect(output).toContain(SECRET);
});

test('shows the mistakes of a policy file, also behind a link', async () => {
  writeFileSync(join(root, 'shared.yaml'), POLICIES);
  symlinkSync('../shared.yaml', here('policies.yaml'));
  expect(await outputOf('check', here('policies.yaml'))).toContain('surprise: 1');
});

test('shows the mistakes of a policy file that a test file in another folder names', async () => {
  writeFileSync(join(root, 'shared.yaml'), POLICIES);
  writeFileSync(here('shared_test.yaml'), 'policies: ../shared.yaml\nclients: {}\ntests: []\n');
  expect(await outputOf('test', here('shared_test.yaml'))).toContain('surprise: 1');
});

test('shows the lines of a file that Kubernetes mounts', async () => {
  mkdirSync(here('..2026'));
  writeFileSync(here('..2026/mounted.yaml'), 'version: 1\ndefault: [ ] ]\n');
  symlinkSync('..2026', here('..data'));
  symlinkSync('..data/mounted.yaml', here('mounted.yaml'));
  expect(await outputOf('check', here('mounted.yaml'))).toContain('default: [ ] ]');
});
