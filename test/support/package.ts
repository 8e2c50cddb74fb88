/** Builds the package of the repository and installs it in a folder, as users install it. */
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = ['node_modules', '.git', 'dist'];

export interface InstalledPackage {
  /** A copy of the repository, in which the package was built. */
  readonly copy: string;
  /** The folder in which the package is installed, as the only dependency. */
  readonly folder: string;
  /** The package itself. */
  readonly root: string;
  /** The command that npm installed. */
  readonly bin: string;
  remove(): void;
}

export async function installPackage(): Promise<InstalledPackage> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-package-')));
  const copy = join(scratch, 'repository');
  const folder = join(scratch, 'elsewhere');
  // A build in the repository would replace files that somebody may be running.
  mkdirSync(copy);
  for (const name of readdirSync(REPOSITORY)) {
    if (NOT_COPIED.includes(name)) continue;
    cpSync(join(REPOSITORY, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'));
  skipTypeCheck(join(copy, 'tsconfig.build.json'));
  await run(copy, 'npm', 'pack', '--pack-destination', scratch);
  const tarball = readdirSync(scratch).find((name) => name.endsWith('.tgz')) ?? '';
  mkdirSync(folder);
  // The package must work without install scripts, because many users may not run them.
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

/** `npm run check` checks the types. Without it, the build emits the same files in a third of the time. */
function skipTypeCheck(file: string): void {
  const config = JSON.parse(readFileSync(file, 'utf8'));
  config.compilerOptions.noCheck = true;
  writeFileSync(file, JSON.stringify(config));
}

/** The environment of a user who has this Node first on the PATH, and no settings of headgate. */
export function userEnvironment(node = process.execPath): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(HEADGATE_|REDIS_URL$)/.test(name),
  );
  return {
    ...Object.fromEntries(inherited),
    PATH: [dirname(node), process.env.PATH].join(delimiter),
  };
}

/** Resolves to the standard output of a command. Rejects if the command fails. */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const env = userEnvironment();
  return (await promisify(execFile)(command, args, { cwd, env })).stdout;
}
