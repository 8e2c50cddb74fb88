/** headgate as the npm package has it: compiled, and without sources. */
import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const NEEDED = ['bin', 'config', 'deploy', 'lua', 'package.json'];

/** Builds it in an empty folder. Returns the path of the command. */
export function buildInto(folder: string): string {
  const modules = join(REPOSITORY, 'node_modules');
  const project = join(REPOSITORY, 'tsconfig.build.json');
  // `npm run check` checks the types.
  const options = ['--noCheck', '--outDir', join(folder, 'dist')];
  execFileSync(join(modules, '.bin', 'tsc'), ['-p', project, ...options]);
  for (const name of NEEDED) {
    cpSync(join(REPOSITORY, name), join(folder, name), { recursive: true });
  }
  symlinkSync(modules, join(folder, 'node_modules'));
  return join(folder, 'bin', 'headgate.cjs');
}
