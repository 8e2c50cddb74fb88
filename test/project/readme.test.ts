import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { SETTINGS } from '../../src/gateway/config/settings/settings.ts';
import { policySetFrom } from '../support/policies.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const README = read('README.md');

const MOST_LINES = 140;

/** The fenced blocks of a language. */
function blocks(page: string, language: string): string[] {
  return [...read(page).matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );
}

test('it is short', () => {
  expect(README.trimEnd().split('\n').length).toBeLessThanOrEqual(MOST_LINES);
});

test('the policy file that it shows is a valid one', () => {
  const [example = ''] = blocks('README.md', 'yaml');
  const { policies } = policySetFrom(example);
  expect(policies.map(({ name }) => name)).toEqual(['login', 'default']);
});

test('the policy file that docs/policy-file.md explains is a valid one', () => {
  const examples = blocks('docs/policy-file.md', 'yaml').filter((text) =>
    text.startsWith('limits:'),
  );
  const algorithms = examples.map((example) => {
    const [policy] = policySetFrom(
      `version: 1\ndefault:\n  ${example.replaceAll('\n', '\n  ')}`,
    ).policies;
    return policy?.limits.map(({ quota }) => quota.algorithm);
  });
  expect(algorithms).toEqual([
    [
      ...['sliding-window-log', 'sliding-window-counter', 'token-bucket', 'sliding-window-log'],
      'fixed-window',
    ],
    ['sliding-window-log', 'fixed-window', 'fixed-window'],
  ]);
});

test('CONTRIBUTING.md has a reason for every runtime dependency', () => {
  const { dependencies } = JSON.parse(read('package.json'));
  for (const name of Object.keys(dependencies))
    expect(read('CONTRIBUTING.md')).toMatch(new RegExp(`^\\|(.*,)? ${name}(,.*)? \\|`, 'm'));
});

test('every setting that docs/running.md names is one, and docs/configuration.md has them all', () => {
  const settings = SETTINGS.map(({ name }) => name);
  const named = read('docs/running.md').match(/HEADGATE_[A-Z_]+/g) ?? [];
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

  test('package.json has at most fourteen scripts', () => {
    expect(Object.keys(scripts).length).toBeLessThanOrEqual(14);
  });

  test('every script that a page names exists', () => {
    const named = pages.flatMap((page) => read(page).match(/npm run ([\w:-]+)/g) ?? []);
    expect(named.length).toBeGreaterThan(10);
    for (const command of named) expect(Object.keys(scripts)).toContain(command.slice(8));
  });

  test('every scenario that a page names exists, and CONTRIBUTING.md names them all', () => {
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/npm run prove -- ([a-z-]+)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(5);
    for (const name of named) expect(scenarios).toContain(name);
    const guide = read('CONTRIBUTING.md');
    const table = guide.slice(guide.indexOf('| `npm run prove --` |'));
    for (const name of scenarios) expect(table).toContain(`\`${name}\``);
  });
});
