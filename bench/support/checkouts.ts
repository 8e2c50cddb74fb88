/** The gateway of this checkout and of others, each compiled as the npm package has it, without sources. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPTIONS } from './options.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const NEEDED = ['bin', 'config', 'deploy', 'lua', 'package.json'];

export interface Checkout {
  /** The gateway's name in tables. */
  readonly name: string;
  /** The path of the compiled command. */
  readonly command: string;
}

/** Compiles a checkout into an empty folder. Returns the path of the command. */
export function buildInto(folder: string, checkout = REPOSITORY): string {
  const modules = join(checkout, 'node_modules');
  if (!existsSync(modules)) throw new Error(`${checkout} has no node_modules: run "npm ci" there`);
  const project = join(checkout, 'tsconfig.build.json');
  // `npm run check` checks the types.
  const options = ['--noCheck', '--outDir', join(folder, 'dist')];
  execFileSync(join(modules, '.bin', 'tsc'), ['-p', project, ...options]);
  for (const name of NEEDED) cpSync(join(checkout, name), join(folder, name), { recursive: true });
  if (existsSync(join(checkout, 'web'))) {
    cpSync(join(checkout, 'web'), join(folder, 'web'), { recursive: true });
  }
  symlinkSync(modules, join(folder, 'node_modules'));
  return join(folder, 'bin', 'headgate.cjs');
}

/** This checkout, then those of --against. */
export function buildCheckouts(folder: string): readonly Checkout[] {
  const build = (checkout?: string) => buildInto(mkdtempSync(join(folder, 'built-')), checkout);
  return [
    { name: 'headgate', command: build() },
    ...OPTIONS.against.map((path) => ({
      name: `headgate of ${basename(path)}`,
      command: build(path),
    })),
  ];
}
