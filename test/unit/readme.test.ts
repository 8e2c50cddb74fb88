import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { policySetFrom } from '../support/policies.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const README = read('README.md');

/** The fenced blocks of a language. */
function blocks(language: string): string[] {
  return [...README.matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );
}

test('the NGINX snippet is part of the file that the tests run', () => {
  expect(blocks('nginx')).toHaveLength(1);
  for (const snippet of blocks('nginx')) expect(read('deploy/nginx/nginx.conf')).toContain(snippet);
});

test('the Envoy snippet is part of the file that the tests run', () => {
  const [snippet = 'none'] = blocks('yaml').filter((text) => text.includes('headers_to_add'));
  expect(read('deploy/envoy/envoy.yaml')).toContain(snippet);
});

test('the policy file that it explains is a valid one', () => {
  const [example = ''] = blocks('yaml').filter((text) => text.startsWith('version: 1'));
  expect(policySetFrom(example).policies.map(({ name }) => name)).toEqual([
    'login',
    'everything',
    'default',
  ]);
});

test('the limits that it explains are valid ones', () => {
  const [example = ''] = blocks('yaml').filter((text) => text.startsWith('limits:'));
  const [policy] = policySetFrom(
    `version: 1\ndefault:\n  ${example.replaceAll('\n', '\n  ')}`,
  ).policies;
  expect(policy?.limits.map(({ quota }) => quota.algorithm)).toEqual([
    'sliding-window-log',
    'sliding-window-counter',
    'token-bucket',
    'sliding-window-log',
  ]);
});

test('every runtime dependency is accounted for', () => {
  const { dependencies } = JSON.parse(read('package.json'));
  for (const name of Object.keys(dependencies))
    expect(README).toMatch(new RegExp(`^\\|(.*,)? ${name}(,.*)? \\|`, 'm'));
});

test('every setting that it names is one, and docs/configuration.md has them all', () => {
  const settings = Object.values(SETTINGS).map(({ name }) => name);
  const named = README.match(/HEADGATE_[A-Z_]+/g) ?? [];
  expect(named.length).toBeGreaterThan(10);
  for (const name of named) expect(settings).toContain(name);
  for (const name of settings) expect(read('docs/configuration.md')).toContain(`| \`${name}\``);
  expect(README).toContain('](docs/configuration.md)');
});

test('every command that it names is one', async () => {
  const [, list = ''] = /^Commands: ([^;]*);/m.exec(README) ?? [];
  const named = [...list.matchAll(/`([a-z-]+)[^`]*`/g)].map(([, name = '']) => name);
  expect(named).toEqual((await createProgram()).commands.map((command) => command.name()));
  expect(README).toContain('](docs/commands.md)');
});

test('every test that SECURITY.md names is there', () => {
  const tests = read('SECURITY.md').match(/test\/[\w/-]+\.test\.ts/g) ?? [];
  expect(tests.length).toBeGreaterThan(10);
  for (const name of tests) expect(() => read(name)).not.toThrow();
});

describe('what pages say of npm', () => {
  const pages = ['.', 'docs', 'bench'].flatMap((folder) => {
    const names = readdirSync(new URL(folder, ROOT), {
      encoding: 'utf8',
      recursive: folder !== '.',
    });
    return names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`);
  });
  const { scripts } = JSON.parse(read('package.json'));
  const scenarios = readdirSync(new URL('test/scenarios/', ROOT), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);

  test('package.json has at most twelve scripts', () => {
    expect(Object.keys(scripts).length).toBeLessThanOrEqual(12);
  });

  test('every script that a page names exists', () => {
    const named = pages.flatMap((page) => read(page).match(/npm run ([\w:-]+)/g) ?? []);
    expect(named.length).toBeGreaterThan(10);
    for (const command of named) expect(Object.keys(scripts)).toContain(command.slice(8));
  });

  test('every scenario that a page names exists, and README.md names them all', () => {
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/npm run prove -- ([a-z-]+)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(5);
    for (const name of named) expect(scenarios).toContain(name);
    const table = README.slice(README.indexOf('| `npm run prove --` |'));
    for (const name of scenarios) expect(table).toContain(`\`${name}\``);
  });
});
