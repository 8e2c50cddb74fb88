/** The npm package, installed in another folder: its files, its command, and the versions of Node that run it. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { call, statuses } from '../support/http.ts';
import { type InstalledPackage, installPackage, run, userEnvironment } from '../support/package.ts';
import { startProcess } from '../support/process.ts';
import { NODE_VERSIONS } from '../support/programs.ts';
import { exchange, statusOf } from '../support/raw-http.ts';

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
  'web',
];
/** Links of the README to files that only the repository has. */
const OF_THE_REPOSITORY = /^(bench\/|test\/|CONTRIBUTING\.md)/;
const LARGE_FILE_BYTES = 100_000;
const LARGE_PACKAGE_BYTES = 5_500_000;
/** What npm installs for a user: headgate and all that it needs. */
const MOST_PACKAGES = 60;
const MOST_BYTES_ON_DISK = 30 * 1024 ** 2;

const REPOSITORY_FILES = ['bin', 'config', 'lua', 'package.json', 'src'];
const { 'node-oldest': oldest, 'node-newest': newest, 'node-too-old': tooOld } = inject('programs');
const SUPPORTED: readonly [string, string | undefined][] = [
  [NODE_VERSIONS['node-oldest'], oldest],
  [process.versions.node, process.execPath],
  [NODE_VERSIONS['node-newest'], newest],
];

const ANY_PORT = {
  HEADGATE_PORT: '0',
  HEADGATE_OPS_PORT: '0',
  HEADGATE_GRPC_PORT: '0',
  HEADGATE_DRAIN_MS: '0',
};

const env = userEnvironment();
let installed: InstalledPackage;
beforeAll(async () => {
  installed = await installPackage();
  // On a busy machine, the build and the installation take minutes.
}, 300_000);
afterAll(() => installed?.remove());

test('the package has the files that a gateway needs, and no sources or large files', () => {
  const entries = readdirSync(installed.root);
  expect(entries).toEqual(expect.arrayContaining(NEEDED));
  expect(entries.filter((name) => !NEEDED.includes(name))).toEqual([]);
  const files = readdirSync(installed.root, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, stats: statSync(join(installed.root, name)) }))
    .filter(({ stats }) => stats.isFile());
  expect(files.filter(({ name }) => /\.ts$|\.test\./.test(name))).toEqual([]);
  const own = files.filter(({ name }) => !name.startsWith('dist/libraries/'));
  expect(own.filter(({ stats }) => stats.size > LARGE_FILE_BYTES)).toEqual([]);
  const bytes = files.reduce((sum, { stats }) => sum + stats.size, 0);
  expect(bytes).toBeLessThan(LARGE_PACKAGE_BYTES);
});

test('npm installs at most 60 packages and 30 MB', () => {
  const modules = join(installed.folder, 'node_modules');
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
  expect(Object.keys(packages).length).toBeLessThanOrEqual(MOST_PACKAGES);
  const bytesOnDisk = readdirSync(modules, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(modules, name)).blocks * 512)
    .reduce((sum, bytes) => sum + bytes, 0);
  expect(bytesOnDisk).toBeLessThan(MOST_BYTES_ON_DISK);
});

test('the package has the license of each library that is built into it', () => {
  const libraries = join(installed.root, 'dist', 'libraries');
  const licenses = readFileSync(join(libraries, 'LICENSES.md'), 'utf8');
  const builtIn = readdirSync(libraries).filter((name) => /(?<!shared)\.js$/.test(name));
  expect(builtIn).toContain('zod.js');
  for (const name of builtIn)
    expect(licenses).toMatch(new RegExp(`^## ${name.slice(0, -3)} \\d`, 'm'));
});

test('the package says where it comes from, and for what to look it up', () => {
  const metadata = JSON.parse(readFileSync(join(installed.root, 'package.json'), 'utf8'));
  expect(metadata).toMatchObject({
    license: 'Apache-2.0',
    homepage: expect.stringMatching(/^https:/),
    bugs: expect.stringMatching(/^https:/),
    // npm refuses a provenance statement that names another repository.
    repository: { type: 'git', url: expect.stringMatching(/^git\+https:.*\.git$/) },
    keywords: expect.arrayContaining(['rate-limit', 'envoy', 'nginx']),
    publishConfig: { access: 'public', provenance: true },
  });
});

test('the package has its manual page', () => {
  const { man } = JSON.parse(readFileSync(join(installed.root, 'package.json'), 'utf8'));
  // npm links the pages of a list into the manual, and leaves out a single one.
  expect(man).toEqual(['dist/headgate.1']);
  expect(readFileSync(join(installed.root, man[0]), 'utf8')).toMatch(/^\.TH HEADGATE 1 /);
});

test('the package has the files that its README links to', () => {
  const readme = readFileSync(join(installed.root, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links).toContain('docs/install.md');
  const missing = links.filter((link) => !existsSync(join(installed.root, link)));
  expect(missing.filter((link) => !OF_THE_REPOSITORY.test(link))).toEqual([]);
});

test('npx runs the command, which finds no mistake in the shipped policy file', async () => {
  const file = 'node_modules/headgate/config/policies.yaml';
  const output = await run(installed.folder, 'npx', '--no', 'headgate', 'check', file);
  expect(output).toContain(`${file}: fine, `);
});

function headgate(node: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(node, args, {
    cwd: installed.folder,
    env: userEnvironment(node),
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

/** How each proxy sends a login of a client, and the status that makes it deny. */
const LOGINS: readonly [string, string, (client: string) => string, number][] = [
  ['Envoy', 'POST /envoy/api/auth/login', (client) => `X-Headgate-Client-IP: ${client}`, 429],
  [
    'NGINX',
    'GET /nginx',
    (client) =>
      `X-Original-Method: POST\r\nX-Original-URI: /api/auth/login\r\nX-Real-IP: ${client}`,
    429,
  ],
  [
    'Caddy',
    'GET /caddy',
    (client) =>
      `X-Forwarded-Method: POST\r\nX-Forwarded-URI: /api/auth/login\r\nX-Headgate-Peer-IP: ${client}`,
    429,
  ],
  [
    'HAProxy',
    'GET /haproxy',
    (client) =>
      `X-Original-Method: POST\r\nX-Original-URI: /api/auth/login\r\nX-Headgate-Peer-IP: ${client}`,
    429,
  ],
  [
    'Traefik',
    'GET /traefik',
    (client) =>
      `X-Forwarded-Method: POST\r\nX-Forwarded-URI: /api/auth/login\r\nX-Forwarded-Host: a\r\nX-Forwarded-For: ${client}`,
    429,
  ],
  [
    'ingress-nginx',
    'GET /ingress-nginx',
    (client) =>
      `X-Original-Method: POST\r\nX-Original-URL: http://a/api/auth/login\r\nX-Real-IP: ${client}`,
    403,
  ],
];

describe.each(SUPPORTED)('on Node %s', (_version, node) => {
  const bin = () => join(installed.root, 'bin', 'headgate.cjs');

  test.skipIf(node === undefined)('headgate checks a policy file', () => {
    const file = join(installed.root, 'config', 'policies.yaml');
    const check = headgate(node ?? '', [bin(), 'check', file]);
    expect(check).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('policies.yaml: fine, '),
    });
  });

  test.skipIf(node === undefined)(
    'the demo denies the sixth login, and prints paths that exist',
    async () => {
      await using demo = startProcess(node ?? '', [bin(), 'demo', '--port', '0'], {
        env: userEnvironment(node),
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
    },
  );

  test.skipIf(node === undefined)(
    'a gateway denies the sixth login for every proxy, reads 240 headers more, and refuses 255 more',
    async () => {
      await using gateway = startProcess(node ?? '', [bin(), 'serve'], {
        env: { ...userEnvironment(node), ...ANY_PORT },
        cwd: installed.folder,
      });
      const [, url = ''] = await gateway.printed(/proxies at (http:\S+)[\s\S]*curl .*\n/);
      const padding = (count: number) => 'A: 1\r\n'.repeat(count);
      for (const [i, [proxy, line, headersOf, denied]] of LOGINS.entries()) {
        const login = async (client: string, more = 240) => {
          const headers = `Host: a\r\nConnection: close\r\n${padding(more)}${headersOf(client)}`;
          return statusOf(await exchange(url, `${line} HTTP/1.1\r\n${headers}\r\n\r\n`, 5_000));
        };
        const codes: unknown[] = [];
        for (let n = 0; n < 6; n++) codes.push(await login(`203.0.113.${i}`));
        expect(codes, proxy).toEqual([200, 200, 200, 200, 200, denied]);
        expect(await login(`198.51.100.${i}`), `${proxy}, another client`).toBe(200);
        // The gateway must not drop headers: a proxy may add the client's address last.
        for (const more of [255, 300, 999, 1_001, 2_500])
          expect(await login('192.0.2.1', more), `${proxy}, ${more} more headers`).toBe(431);
      }
      expect(await gateway.stop()).toBe(0);
    },
  );
});

test('a gateway with a collector, but without OpenTelemetry, starts and says what to install', async () => {
  await using gateway = startProcess(installed.bin, ['serve'], {
    env: { ...env, ...ANY_PORT, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
    cwd: installed.folder,
  });
  await gateway.printed(/install OpenTelemetry beside headgate: npm install @opentelemetry\//);
  await gateway.printed(/proxies at http:/);
  expect(await gateway.stop()).toBe(0);
});

describe.skipIf(tooOld === undefined)("a clone with an older Node as the system's", () => {
  const bin = fileURLToPath(new URL('../../bin/headgate.cjs', import.meta.url));

  test('runs commands in any folder with the Node that npm ci installed', () => {
    expect(headgate(tooOld ?? '', [bin, '--version'])).toMatchObject({
      code: 0,
      stdout: '0.2.0\n',
    });
    expect(headgate(tooOld ?? '', [bin, 'check', 'nowhere.yaml'])).toMatchObject({ code: 3 });
  });

  test('stops a gateway when it is told to', async () => {
    await using gateway = startProcess(tooOld ?? '', [bin, 'serve'], {
      env: { ...env, ...ANY_PORT, HEADGATE_DRAIN_MS: '0' },
    });
    await gateway.printed(/proxies at http:/);
    expect(await gateway.stop()).toBe(0);
  });

  test('leaves no gateway behind if it is killed', async () => {
    await using gateway = startProcess(tooOld ?? '', [bin, 'serve'], {
      env: { ...env, ...ANY_PORT, HEADGATE_DRAIN_MS: '0' },
    });
    await gateway.printed(/proxies at http:/);
    // The gateway has the same outputs, so they are closed only when it has ended as well.
    expect(await gateway.stop('SIGKILL')).toBe(null);
  });
});

describe('an error message names the remedy', () => {
  test.skipIf(tooOld === undefined)('if Node is too old for the package', () => {
    for (const args of [[], ['--help'], ['check', 'policies.yaml']]) {
      const { code, stdout, stderr } = headgate(tooOld ?? '', [installed.bin, ...args]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr.split('\n')).toEqual([
        `headgate needs Node 22.12 or newer, but not 23. This is Node ${NODE_VERSIONS['node-too-old']}, ${tooOld}.`,
        'Install Node 24 from https://nodejs.org and run the same command again.',
        'Or let npm fetch a Node for headgate, as in: npx -p node@24 headgate --help',
        '',
      ]);
    }
  });

  test.skipIf(tooOld === undefined)(
    'if Node is too old for the sources, and "npm ci" installed no other',
    () => {
      const checkout = copyRepository('without-node');
      const { status, stderr } = spawnSync('npm', ['start', '--silent'], {
        cwd: checkout,
        env: userEnvironment(tooOld),
        encoding: 'utf8',
      });
      expect(status).toBe(1);
      expect(stderr).toContain(
        `headgate needs Node 24 or newer to run from its sources in ${checkout}. This is Node ${NODE_VERSIONS['node-too-old']}, ${tooOld}.`,
      );
      expect(stderr).toContain('Run "npm ci" there, without --omit=dev and --ignore-scripts');
    },
  );

  test('if the dependencies of the repository are not installed', () => {
    const checkout = copyRepository('without-dependencies');
    const { code, stderr } = headgate(process.execPath, [join(checkout, 'bin', 'headgate.cjs')]);
    expect(code).toBe(1);
    expect(stderr).toContain("headgate: Cannot find package '");
    expect(stderr).toContain(`Run "npm ci" in ${checkout} first.`);
    expect(stderr).not.toContain('at ');
  });
});

/** A copy without dependencies, as after a clone. */
function copyRepository(name: string): string {
  const checkout = join(dirname(installed.folder), name);
  mkdirSync(checkout);
  for (const file of REPOSITORY_FILES)
    cpSync(join(installed.copy, file), join(checkout, file), { recursive: true });
  return checkout;
}

describe('the supported versions of Node', () => {
  const pretending = (version: string) => [
    '--import',
    `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`,
  ];
  const run = (version: string) =>
    headgate(process.execPath, [...pretending(version), installed.bin, '--version']);

  test('are listed in "engines"', () => {
    const { engines } = JSON.parse(readFileSync(join(installed.root, 'package.json'), 'utf8'));
    expect(engines).toEqual({ node: '^22.12.0 || >=24.0.0' });
  });
  test.each(['20.20.2', '22.11.0', '23.11.1'])('do not include %s', (version) => {
    const { code, stderr } = run(version);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `headgate needs Node 22.12 or newer, but not 23. This is Node ${version}`,
    );
  });
  test.each(['22.23.3', '24.0.0', '27.0.0-nightly1'])('include %s', (version) =>
    expect(run(version).code).toBe(0),
  );
});
