/** The package that npm makes of the repository, installed somewhere else: what it holds, and that it works there. */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, statuses } from '../support/http.ts';
import { startProcess } from '../support/process.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = ['node_modules', '.git', 'dist'];
const NEEDED = [
  'README.md',
  'SECURITY.md',
  'config',
  'deploy',
  'dist',
  'docs',
  'lua',
  'package.json',
  'proto',
];
const WELCOME = ['LICENSE'];
/** What the README speaks of for those who have the repository. */
const OF_THE_REPOSITORY = /^bench\//;
const LARGE_FILE_BYTES = 100_000;
const LARGE_PACKAGE_BYTES = 3_000_000;

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-package-')));
const copy = join(folder, 'repository');
const elsewhere = join(folder, 'elsewhere');
const installed = join(elsewhere, 'node_modules', 'headgate');
const bin = join(elsewhere, 'node_modules', '.bin', 'headgate');

/** Of a user who has this Node and no settings of headgate. */
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HEADGATE_|REDIS_URL$)/.test(name)),
  ),
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
};
const run = async (cwd: string, command: string, ...args: string[]) =>
  (await promisify(execFile)(command, args, { cwd, env })).stdout;

beforeAll(async () => {
  // In the repository itself a build would disturb whoever runs what was built there.
  mkdirSync(copy);
  for (const name of readdirSync(REPOSITORY)) {
    if (NOT_COPIED.includes(name)) continue;
    cpSync(join(REPOSITORY, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'));
  await run(copy, 'npm', 'pack', '--pack-destination', folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  mkdirSync(elsewhere);
  // Many may not run the scripts of packages: it must do without.
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run(elsewhere, 'npm', 'install', '--prefix', elsewhere, ...quietly, join(folder, tarball));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('it holds what a gateway needs, nothing for its authors, and nothing large', () => {
  const entries = readdirSync(installed);
  expect(entries).toEqual(expect.arrayContaining(NEEDED));
  expect(entries.filter((name) => ![...NEEDED, ...WELCOME].includes(name))).toEqual([]);
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, stats: statSync(join(installed, name)) }))
    .filter(({ stats }) => stats.isFile());
  expect(files.filter(({ name }) => /\.ts$|\.test\./.test(name))).toEqual([]);
  expect(files.filter(({ stats }) => stats.size > LARGE_FILE_BYTES)).toEqual([]);
  const bytes = files.reduce((sum, { stats }) => sum + stats.size, 0);
  expect(bytes).toBeLessThan(LARGE_PACKAGE_BYTES);
});

test('it holds the files that its README links to', () => {
  const readme = readFileSync(join(installed, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links).toContain('deploy/nginx');
  const missing = links.filter((link) => !existsSync(join(installed, link)));
  expect(missing.filter((link) => !OF_THE_REPOSITORY.test(link))).toEqual([]);
});

test('its gateway lets five logins pass, and not the sixth', async () => {
  const ports = { HEADGATE_PORT: '0', HEADGATE_OPS_PORT: '0', HEADGATE_GRPC_PORT: 'off' };
  const settings = { env: { ...env, ...ports, HEADGATE_DRAIN_MS: '0' }, cwd: elsewhere };
  await using gateway = startProcess(bin, [], settings);
  const [, url = ''] = await gateway.printed(/proxies at (http:\S+)[\s\S]*curl .*\n/);
  const login = () => call(url, '/envoy/api/auth/login', { method: 'POST' });
  expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
});

test('so does its demo, which names files that are there', async () => {
  await using demo = startProcess(bin, ['demo', '--port', '0'], { env, cwd: elsewhere });
  const [text, url = ''] = await demo.printed(/at (http:[^\s,]+)[\s\S]*Ctrl\+C/);
  const login = () => call(url, '/api/auth/login', { method: 'POST' });
  expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
  const paths = [...text.matchAll(/ (\/\S+)/g)].map(([, path = '']) => path);
  expect(paths).toEqual([join(installed, 'config/policies.yaml'), join(installed, 'deploy')]);
  for (const path of paths) expect(existsSync(path), path).toBe(true);
});

test('npx finds it, and it finds no mistake in its policy file', async () => {
  const file = 'node_modules/headgate/config/policies.yaml';
  const output = await run(elsewhere, 'npx', '--no', 'headgate', 'check', file);
  expect(output).toContain(`${file}: fine, `);
});
