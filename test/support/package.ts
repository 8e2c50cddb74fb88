/** The package that npm makes of the repository, installed in a folder of its own as its users install it. */
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = ['node_modules', '.git', 'dist'];

export interface InstalledPackage {
  /** A copy of the repository, where the package was built. */
  readonly copy: string;
  /** The folder that it is installed in, as the only dependency. */
  readonly folder: string;
  /** The package itself. */
  readonly root: string;
  /** The command that npm made of it. */
  readonly bin: string;
  remove(): void;
}

export async function installPackage(): Promise<InstalledPackage> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-package-')));
  const copy = join(scratch, 'repository');
  const folder = join(scratch, 'elsewhere');
  // In the repository itself a build would disturb whoever runs what was built there.
  mkdirSync(copy);
  for (const name of readdirSync(REPOSITORY)) {
    if (NOT_COPIED.includes(name)) continue;
    cpSync(join(REPOSITORY, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'));
  await run(copy, 'npm', 'pack', '--pack-destination', scratch);
  const tarball = readdirSync(scratch).find((name) => name.endsWith('.tgz')) ?? '';
  mkdirSync(folder);
  // Many may not run the scripts of packages: it must do without.
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run(folder, 'npm', 'install', '--prefix', folder, ...quietly, join(scratch, tarball));
  return {
    copy,
    folder,
    root: join(folder, 'node_modules', 'headgate'),
    bin: join(folder, 'node_modules', '.bin', 'headgate'),
    remove: () => rmSync(scratch, { recursive: true, force: true }),
  };
}

/** Of a user who has this Node first on the PATH, and no settings of headgate. */
export function userEnvironment(node = process.execPath): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(HEADGATE_|REDIS_URL$)/.test(name),
  );
  return {
    ...Object.fromEntries(inherited),
    PATH: [dirname(node), process.env.PATH].join(delimiter),
  };
}

/** What a command prints. Rejects when it fails. */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const env = userEnvironment();
  return (await promisify(execFile)(command, args, { cwd, env })).stdout;
}
