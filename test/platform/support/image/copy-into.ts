/** COPY of a Dockerfile, from an earlier stage or from the repository without what `.dockerignore` names. */
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, matchesGlob, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuiltStage } from './build.ts';
import type { Instruction } from './dockerfile.ts';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));

export interface Place {
  readonly root: string;
  readonly workdir: string;
}

export function copyInto(place: Place, { flags, text }: Instruction, built: readonly BuiltStage[]) {
  const words = text.split(/\s+/);
  const target = words.pop() ?? '';
  const stage = built.find(({ name }) => name !== undefined && name === flags.from);
  if (flags.from !== undefined && stage === undefined)
    throw new Error(`Dockerfile: no stage ${flags.from}`);
  const origin = stage?.root ?? REPOSITORY;
  const isIgnored = stage === undefined ? ignoredInRepository() : () => false;
  for (const word of words) {
    const from = join(origin, word);
    const folder = join(place.root, resolve(place.workdir, target));
    const intoFolder = target.endsWith('/') && !statSync(from).isDirectory();
    const to = intoFolder ? join(folder, basename(from)) : folder;
    mkdirSync(dirname(to), { recursive: true });
    const filter = (path: string) => !isIgnored(relative(origin, path));
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, filter });
    if (flags.chmod !== undefined) chmodSync(to, Number.parseInt(flags.chmod, 8));
  }
}

function ignoredInRepository(): (path: string) => boolean {
  const patterns = readFileSync(join(REPOSITORY, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => !/^(#|$)/.test(line));
  return (path) => patterns.some((pattern) => matchesGlob(path, pattern));
}
