import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const HERE = fileURLToPath(new URL('.', import.meta.url));
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
export const REPORTS = join(PROJECT, '.mutants');
/** The keys of the mutants to run, as `sample.ts` writes them. */
export const SAMPLE_FILE = join(REPORTS, 'sample.json');

export function run(program: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed`);
}
