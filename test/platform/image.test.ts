/**
 * The container image without a container engine: the test makes its root file system as the Dockerfile says, and starts
 * it confined, as its user.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startCollector } from '../support/collector.ts';
import { eventually } from '../support/eventually.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { buildImage, type Image } from './support/image/build.ts';
import { type ContainerOptions, canContain, containerCommand } from './support/image/container.ts';
import { writeOciLayout } from './support/image/oci-layout.ts';

/** Node alone takes 127 MB of it. The real base has about 15 MB more: OpenSSL, and conversions of character sets. */
const LARGEST_BYTES = 160_000_000;
const LARGEST_WITHOUT_NODE_BYTES = 30_000_000;
const LARGEST_DOWNLOAD_BYTES = 60_000_000;
const BUILD_ARGS = { REVISION: '0123abc', CREATED: '2026-11-23T00:00:00Z' };

const SHELLS = ['sh', 'bash', 'dash', 'ash', 'zsh', 'busybox', 'env'];
const PACKAGE_MANAGERS = ['apt', 'apt-get', 'dpkg', 'npm', 'npx', 'corepack', 'yarn', 'pnpm'];

describe.skipIf(!canContain)('the image', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'headgate-image-'));
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
  let image: Image;
  let paths: string[] = [];
  beforeAll(() => {
    image = buildImage(scratch, BUILD_ARGS);
    paths = readdirSync(image.root, { recursive: true, encoding: 'utf8' });
    // It installs all dependencies, as an engine does.
  }, 300_000);
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const stats = (path: string) => lstatSync(join(image.root, path), { throwIfNoEntry: false });
  const files = () => paths.filter((path) => stats(path)?.isFile());
  const bytesOf = (some: readonly string[]) =>
    some.reduce((sum, path) => sum + (stats(path)?.size ?? 0), 0);
  /** Of headgate and its dependencies. */
  const ofPackage = () => files().filter((path) => path.startsWith('opt/headgate/'));

  const run = (options: ContainerOptions) =>
    promisify(execFile)(...containerCommand(image, options)).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );

  test('is small', () => {
    const all = bytesOf(files());
    const node = bytesOf(['usr/local/bin/node']);
    console.log(`the image has ${megabytes(all)} MB, ${megabytes(all - node)} MB without Node`);
    expect(all).toBeLessThan(LARGEST_BYTES);
    expect(all - node).toBeLessThan(LARGEST_WITHOUT_NODE_BYTES);
  });

  test('has no shell and no package manager', () => {
    const programs = files().filter((path) => ((stats(path)?.mode ?? 0) & 0o111) !== 0);
    const names = programs.map((path) => path.split('/').at(-1));
    expect(names).toEqual(expect.arrayContaining(['headgate', 'ratelimit']));
    for (const name of [...SHELLS, ...PACKAGE_MANAGERS]) expect(names).not.toContain(name);
  });

  test('has no files that its user owns, that everybody can write, or that give rights', () => {
    // A link has no rights of its own.
    const everything = paths.filter((path) => stats(path)?.isSymbolicLink() === false);
    const owned = everything.filter((path) => stats(path)?.uid !== process.getuid?.());
    expect(owned.filter((path) => path !== 'home/nonroot')).toEqual([]);
    const withMode = (bits: number) =>
      everything.filter((path) => ((stats(path)?.mode ?? 0) & bits) !== 0);
    expect(withMode(0o002).filter((path) => path !== 'tmp')).toEqual([]);
    expect(withMode(0o6000)).toEqual([]);
    const unreadable = everything.filter((path) => ((stats(path)?.mode ?? 0) & 0o004) === 0);
    expect(unreadable.filter((path) => path !== 'root')).toEqual([]);
  });

  test('has what the package needs at run time, in the versions of the lock file, and no more', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    const inImage = ofPackage().filter((path) =>
      /node_modules\/(@[^/]+\/)?[^/]+\/package.json$/.test(path),
    );
    const names = inImage.map((path) =>
      path.slice('opt/headgate/'.length, -'/package.json'.length),
    );
    for (const name of names) {
      const { version } = JSON.parse(
        readFileSync(join(image.root, 'opt/headgate', name, 'package.json'), 'utf8'),
      );
      expect(packages[name]?.version, name).toBe(version);
    }
    const wanted = [
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies),
    ];
    expect(names).toEqual(expect.arrayContaining(wanted.map((name) => `node_modules/${name}`)));
    const tools = Object.keys(manifest.devDependencies).filter((name) => !wanted.includes(name));
    const unwanted = tools.filter((name) => packages[`node_modules/${name}`]?.dev === true);
    expect(unwanted.length).toBeGreaterThan(15);
    for (const name of unwanted) expect(names).not.toContain(`node_modules/${name}`);
  });

  test('has no tests, no documentation, no sources and no binary modules', () => {
    const unwanted = /\.(ts|md|node|map)$|\/(test|tests|docs|examples|benchmarks)\//;
    const others = ofPackage().filter((path) => !/^opt\/headgate\/(dist|deploy)\//.test(path));
    expect(others.filter((path) => unwanted.test(path))).toEqual([]);
    for (const folder of ['src', 'test', 'docs'])
      expect(paths).not.toContain(`opt/headgate/${folder}`);
    expect(paths).toContain('opt/headgate/LICENSE');
    expect(paths).toContain('usr/share/doc/node/LICENSE');
  });

  test('says what it is, and which user it runs as', () => {
    const { config } = image;
    expect(config.user).toBe('65532:65532');
    expect(readFileSync(join(image.root, 'etc/passwd'), 'utf8')).toMatch(
      /^nonroot:x:65532:65532:/m,
    );
    expect(config.exposed).toEqual(['8080', '8081', '9464']);
    const { labels } = config;
    expect(labels).toEqual({
      'org.opencontainers.image.title': 'headgate',
      'org.opencontainers.image.description': expect.stringMatching(/./),
      'org.opencontainers.image.source': 'https://github.com/headgate/headgate',
      'org.opencontainers.image.url': 'https://github.com/headgate/headgate',
      'org.opencontainers.image.documentation': `https://github.com/headgate/headgate/tree/v${manifest.version}/docs`,
      'org.opencontainers.image.licenses': manifest.license,
      'org.opencontainers.image.version': manifest.version,
      'org.opencontainers.image.revision': BUILD_ARGS.REVISION,
      'org.opencontainers.image.created': BUILD_ARGS.CREATED,
      'org.opencontainers.image.base.name': expect.stringMatching(/^gcr\.io\/distroless\//),
    });
  });

  test.skipIf(inject('programs').umoci === undefined)('is an OCI image', () => {
    const { configuration, compressedBytes } = writeOciLayout(image, join(scratch, 'layout'));
    console.log(`its download has ${megabytes(compressedBytes)} MB`);
    expect(compressedBytes).toBeLessThan(LARGEST_DOWNLOAD_BYTES);
    expect(configuration.os).toBe('linux');
    expect(configuration.config).toEqual({
      User: '65532:65532',
      ExposedPorts: { 8080: {}, 8081: {}, 9464: {} },
      Env: expect.arrayContaining([
        'NODE_ENV=production',
        'HEADGATE_HOST=0.0.0.0',
        'HEADGATE_POLICIES=/etc/headgate/policies.yaml',
      ]),
      Entrypoint: ['headgate'],
      Cmd: ['serve'],
      WorkingDir: '/etc/headgate',
      Labels: image.config.labels,
    });
  });

  test('runs the commands of headgate, as `docker run IMAGE COMMAND` does', async () => {
    expect(await run({ args: ['--version'] })).toMatchObject({
      code: 0,
      stdout: `${manifest.version}\n`,
    });
    const checked = await run({
      args: ['check', 'policies.yaml'],
      mounts: { '/etc/headgate': join(process.cwd(), 'deploy/kubernetes/base') },
    });
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('fine, 1 polic') });
    expect((await run({ args: ['proxy-config', 'nginx'] })).stdout).toContain('auth_request');
    expect(await run({ args: ['healthcheck'], env: { HEADGATE_OPS_PORT: '1' } })).toMatchObject({
      code: 1,
      stderr: 'headgate: http://127.0.0.1:1/livez did not answer\n',
    });
  });

  test('runs as any user, as a cluster may choose it', async () => {
    const config = { ...image.config, user: '1234567:1234567' };
    const [program, args] = containerCommand({ ...image, config }, { args: ['check'] });
    expect((await promisify(execFile)(program, args)).stdout).toContain('policies.yaml: fine, ');
  });

  test('cannot run a shell or change a file', async () => {
    const node = (script: string) =>
      run({ program: ['node', '--print', script], args: [] }).then(
        ({ stdout, stderr }) => stdout + stderr,
      );
    expect((await run({ program: ['/bin/sh', '-c', 'true'] })).stderr).toMatch(/No such file/);
    expect(await node('process.getuid()')).toBe('65532\n');
    for (const path of [
      '/etc/headgate/policies.yaml',
      '/opt/headgate/x',
      '/tmp/x',
      '/home/nonroot/x',
    ])
      expect(await node(`fs.writeFileSync('${path}', '')`), path).toMatch(/EROFS|EACCES/);
  });

  const LOGIN = { method: 'POST', headers: { 'x-headgate-client-ip': '203.0.113.9' } };

  /** Resolves when the health check passes. */
  async function start(env: Readonly<Record<string, string>> = {}) {
    const ports = { HEADGATE_PORT: await freePort(), HEADGATE_OPS_PORT: await freePort() };
    const all = {
      ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
      HEADGATE_GRPC_PORT: 'off',
      HEADGATE_DRAIN_MS: '0',
      ...env,
    };
    const running = startProcess(...containerCommand(image, { env: all }));
    await healthy(all, running);
    return { running, url: `http://127.0.0.1:${ports.HEADGATE_PORT}` };
  }

  const healthy = (env: Readonly<Record<string, string>>, running: RunningProcess) =>
    eventually(
      () => run({ program: image.config.healthcheck, args: [], env }),
      ({ code }) => code === 0,
      30_000,
      `a healthy gateway:\n${running.output()}`,
    );

  /** To the gateway, which is the first process of its container; bubblewrap ends with its exit code. */
  function terminate({ pid }: RunningProcess): void {
    const [child = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    process.kill(Number(child), 'SIGTERM');
  }

  test('starts without arguments, is healthy, denies the sixth login, and stops on SIGTERM', async () => {
    const { running, url } = await start();
    await using _ = running;
    const login = () => call(url, '/envoy/api/auth/login', LOGIN);
    expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
    terminate(running);
    expect(await running.exited()).toBe(0);
  });

  test.skipIf(!redisIsHere)('runs workers with Redis, and sends spans to a collector', async () => {
    await using redis = await startRedis();
    await using collector = await startCollector();
    const { running, url } = await start({
      HEADGATE_WORKERS: '2',
      HEADGATE_REDIS_URL: redis.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    await using _ = running;
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const headers = { ...LOGIN.headers, traceparent };
    const login = () => call(url, '/envoy/api/auth/login', { ...LOGIN, headers });
    expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
    await collector.got(12);
    terminate(running);
    expect(await running.exited()).toBe(0);
  });

  /** The image has this folder: the tests cannot mount over what is not there. */
  const DATA = '/home/nonroot';
  /** As envoyproxy/ratelimit has it. */
  const RULES = `domain: edge
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;

  /** In the place of envoyproxy/ratelimit, with its environment, on addresses of this machine alone. */
  async function startRatelimit(options: ContainerOptions) {
    const [json, grpc, ops] = [await freePort(), await freePort(), await freePort()];
    const folder = mkdtempSync(join(scratch, 'rules-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'ratelimit/config'), { recursive: true });
    writeFileSync(join(folder, 'ratelimit/config/edge.yaml'), RULES);
    const env = {
      USE_STATSD: 'false',
      LOG_LEVEL: 'debug',
      RUNTIME_ROOT: DATA,
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      HOST: '127.0.0.2',
      GRPC_HOST: '127.0.0.3',
      PORT: String(json),
      GRPC_PORT: String(grpc),
      DEBUG_HOST: '127.0.0.1',
      DEBUG_PORT: String(ops),
      HEADGATE_DRAIN_MS: '0',
      ...options.env,
    };
    const mounts = { [DATA]: folder, ...options.mounts };
    const running = startProcess(...containerCommand(image, { ...options, env, mounts }));
    await running.printed(/ {2}store .*\n/);
    return { running, json, opsUrl: `http://127.0.0.1:${ops}`, env, mounts };
  }

  const CALL = {
    method: 'POST',
    body: '{"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"a"}]}]}',
  };

  test.each<[string, ContainerOptions]>([
    ['as the command', { program: ['/bin/ratelimit'] }],
    ['as the argument of the image', { args: ['/bin/ratelimit'] }],
    ['as a command of headgate', { args: ['ratelimit'] }],
  ])('/bin/ratelimit takes the place of envoyproxy/ratelimit, %s', async (_, options) => {
    const { running, json, opsUrl, env, mounts } = await startRatelimit(options);
    await using _running = running;
    await healthy(env, running);
    const { findings } = JSON.parse(
      (await run({ args: ['doctor', '-o', 'json'], env, mounts })).stdout,
    );
    const ids = findings.map(({ id }: { id: string }) => id);
    // It finds the gateway where GRPC_HOST says, with the policies that it has.
    expect(ids).not.toContain('other-policy-file');
    expect(findings).toContainEqual(
      expect.objectContaining({
        subject: `127.0.0.3:${env.GRPC_PORT}`,
        problem: 'HEADGATE_GRPC_PORT: a gateway has it',
      }),
    );
    const url = `http://127.0.0.2:${json}`;
    expect((await call(url, '/healthcheck')).status).toBe(200);
    expect(await statuses(3, () => call(url, '/json', CALL))).toEqual([200, 200, 429]);
    expect((await call(opsUrl, '/metrics')).body).toContain('headgate_');
    // Only where HOST says, though the image has a HEADGATE_HOST.
    await expect(call(`http://127.0.0.1:${json}`, '/healthcheck')).rejects.toThrow('ECONNREFUSED');
    terminate(running);
    expect(await running.exited()).toBe(0);
  });

  test('/bin/ratelimit has no policies beside the limits, unless the user mounts some', async () => {
    const own = join(scratch, 'own');
    mkdirSync(own);
    writeFileSync(
      join(own, 'policies.yaml'),
      'version: 1\ndefault: { limits: [9/1s] }\npolicies:\n  - name: own\n    match: { path: /own }\n    limits: [1/1s]\n',
    );
    const token = 'a-token-of-operators';
    const env = { HEADGATE_ADMIN_TOKEN: token };
    const policiesWith = async (options: ContainerOptions) => {
      const { running, opsUrl } = await startRatelimit({ program: ['/bin/ratelimit'], ...options });
      await using _ = running;
      const headers = { authorization: `Bearer ${token}` };
      const { body } = await call(opsUrl, '/v1/policies', { headers });
      const { policies }: { policies: { name: string }[] } = JSON.parse(body);
      terminate(running);
      await running.exited();
      return policies.map(({ name }) => name);
    };
    expect(await policiesWith({ env })).toEqual(['default', 'edge.user']);
    const mounts = { '/etc/headgate': own };
    expect(await policiesWith({ env, mounts })).toEqual(['own', 'default', 'edge.user']);
    // A folder without policies.
    const without = { '/etc/headgate': join(own, '..') };
    expect(await policiesWith({ env, mounts: without })).toEqual(['default', 'edge.user']);
  });

  test.skipIf(!redisIsHere)('/bin/ratelimit runs workers, and says its notes once', async () => {
    await using redis = await startRedis();
    const { running, json, opsUrl } = await startRatelimit({
      program: ['/bin/ratelimit'],
      env: {
        REDIS_SOCKET_TYPE: 'tcp',
        REDIS_URL: new URL(redis.url).host,
        REDIS_POOL_SIZE: '5',
        HEADGATE_WORKERS: '2',
        HEADGATE_STORE_TIMEOUT_MS: '10000',
      },
    });
    await using _ = running;
    await eventually(
      () => call(opsUrl, '/readyz'),
      ({ body }) => !body.includes('degraded'),
      20_000,
      'workers that count in Redis',
    );
    const url = `http://127.0.0.2:${json}`;
    expect(await statuses(3, () => call(url, '/json', CALL))).toEqual([200, 200, 429]);
    expect(running.output().match(/REDIS_POOL_SIZE has no effect/g)).toHaveLength(1);
    terminate(running);
    expect(await running.exited()).toBe(0);
  });
});

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
