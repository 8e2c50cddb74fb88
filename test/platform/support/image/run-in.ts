/** RUN of a Dockerfile: a command in a stage, with the programs of this machine under it, and its npm. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Place } from './copy-into.ts';

const SHARED = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc', '/run'];
const NPM = '/usr/local/lib/node_modules/npm';
const NPMRC = join(homedir(), '.npmrc');
const NPM_CACHE = join(homedir(), '.npm');

export function runIn({ root, workdir }: Place, command: string): void {
  for (const name of ['tmp', 'usr/local/bin', 'root'])
    mkdirSync(join(root, name), { recursive: true });
  link('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  const here = SHARED.filter((path) => existsSync(path));
  for (const path of here.filter(isLink)) link(readlinkSync(path), join(root, path));
  const args = [
    ...['--bind', root, '/'],
    ...here.filter((path) => !isLink(path)).flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', join(root, 'usr/local'), '/usr/local', '--ro-bind', npmOfThisMachine(), NPM],
    // What npm downloaded before, and where it downloads from.
    ...(existsSync(NPM_CACHE) ? ['--bind', NPM_CACHE, '/root/.npm'] : []),
    ...(existsSync(NPMRC) ? ['--ro-bind', NPMRC, '/root/.npmrc'] : []),
    ...['--proc', '/proc', '--dev', '/dev', '--chdir', workdir],
    ...['--setenv', 'HOME', '/root', '--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin'],
    ...['--setenv', 'npm_config_prefer_offline', 'true', '--', '/bin/sh', '-c', command],
  ];
  execFileSync('bwrap', args, { stdio: ['ignore', 'pipe', 'pipe'], env: inherited() });
}

function link(target: string, path: string): void {
  if (!isLink(path)) symlinkSync(target, path);
}

/** Without what npm and vitest set for their own children, but with the authorities that this machine trusts. */
function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_|NODE_(?!EXTRA_CA_CERTS)|VITEST|HEADGATE_)/i.test(name),
    ),
  );
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Its folder. */
function npmOfThisMachine(): string {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'npm'))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('npm is not on the PATH');
  return dirname(dirname(realpathSync(found)));
}
