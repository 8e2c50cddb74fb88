/** The package that npm makes of the repository, installed somewhere else: what it holds, and that it works there. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, statuses } from '../support/http.ts';
import { type InstalledPackage, installPackage, run, userEnvironment } from '../support/package.ts';
import { startProcess } from '../support/process.ts';

const NEEDED = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'bin',
  'config',
  'deploy',
  'dist',
  'docs',
  'lua',
  'package.json',
  'proto',
];
/** What the README speaks of for those who have the repository. */
const OF_THE_REPOSITORY = /^(bench\/|CONTRIBUTING\.md)/;
const LARGE_FILE_BYTES = 100_000;
const LARGE_PACKAGE_BYTES = 3_000_000;

const env = userEnvironment();
let installed: InstalledPackage;
beforeAll(async () => {
  installed = await installPackage();
});
afterAll(() => installed?.remove());

test('it holds what a gateway needs, nothing for its authors, and nothing large', () => {
  const entries = readdirSync(installed.root);
  expect(entries).toEqual(expect.arrayContaining(NEEDED));
  expect(entries.filter((name) => !NEEDED.includes(name))).toEqual([]);
  const files = readdirSync(installed.root, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, stats: statSync(join(installed.root, name)) }))
    .filter(({ stats }) => stats.isFile());
  expect(files.filter(({ name }) => /\.ts$|\.test\./.test(name))).toEqual([]);
  expect(files.filter(({ stats }) => stats.size > LARGE_FILE_BYTES)).toEqual([]);
  const bytes = files.reduce((sum, { stats }) => sum + stats.size, 0);
  expect(bytes).toBeLessThan(LARGE_PACKAGE_BYTES);
});

test('it holds the files that its README links to', () => {
  const readme = readFileSync(join(installed.root, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links).toContain('deploy/nginx');
  const missing = links.filter((link) => !existsSync(join(installed.root, link)));
  expect(missing.filter((link) => !OF_THE_REPOSITORY.test(link))).toEqual([]);
});

test('its gateway lets five logins pass, and not the sixth', async () => {
  const ports = { HEADGATE_PORT: '0', HEADGATE_OPS_PORT: '0', HEADGATE_GRPC_PORT: 'off' };
  const settings = { env: { ...env, ...ports, HEADGATE_DRAIN_MS: '0' }, cwd: installed.folder };
  await using gateway = startProcess(installed.bin, [], settings);
  const [, url = ''] = await gateway.printed(/proxies at (http:\S+)[\s\S]*curl .*\n/);
  const login = () => call(url, '/envoy/api/auth/login', { method: 'POST' });
  expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
});

test('so does its demo, which names files that are there', async () => {
  await using demo = startProcess(installed.bin, ['demo', '--port', '0'], {
    env,
    cwd: installed.folder,
  });
  const [text, url = ''] = await demo.printed(/at (http:[^\s,]+)[\s\S]*Ctrl\+C/);
  const login = () => call(url, '/api/auth/login', { method: 'POST' });
  expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
  const paths = [...text.matchAll(/ (\/\S+)/g)].map(([, path = '']) => path);
  expect(paths).toEqual([
    join(installed.root, 'config/policies.yaml'),
    join(installed.root, 'deploy'),
  ]);
  for (const path of paths) expect(existsSync(path), path).toBe(true);
});

test('npx finds it, and it finds no mistake in its policy file', async () => {
  const file = 'node_modules/headgate/config/policies.yaml';
  const output = await run(installed.folder, 'npx', '--no', 'headgate', 'check', file);
  expect(output).toContain(`${file}: fine, `);
});
