/** A sample of the mutants of a room: it stays the same until the code changes. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HERE, PROJECT, SAMPLE_FILE } from './folders.ts';
import { keyOf, type Mutant } from './mutant.ts';

interface Listed extends Mutant {
  readonly fileName: string;
}

/** Chooses `size` mutants of each place, a folder or a file of `src`. Resolves to their ranges, as Stryker writes them. */
export async function chooseSample(
  places: readonly string[],
  size: number,
  seed: string,
): Promise<string[]> {
  const chosen: Listed[] = [];
  for (const place of places) {
    const found = await mutantsIn(place, seed);
    if (found.length === 0) throw new Error(`src/${place} has no code that can be changed`);
    chosen.push(...found.slice(0, size));
  }
  writeFileSync(SAMPLE_FILE, JSON.stringify(chosen.map((each) => keyOf(each.fileName, each, 0))));
  return chosen.map(({ fileName, location: { start, end } }) => {
    return `${fileName}:${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`;
  });
}

async function mutantsIn(place: string, seed: string): Promise<Listed[]> {
  const pattern = place.endsWith('.ts') ? `src/${place}` : `src/${place}/**/*.ts`;
  const files = globSync(pattern, { cwd: PROJECT }).map((name) => ({
    name,
    mutate: true,
    content: readFileSync(join(PROJECT, name), 'utf8'),
  }));
  const { Instrumenter } = await import(
    join(HERE, 'node_modules/@stryker-mutator/instrumenter/dist/src/index.js')
  );
  const quiet = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };
  const options = { plugins: null, ignorers: [], excludedMutations: [] };
  const { mutants } = await new Instrumenter(quiet).instrument(files, options);
  return (mutants as Listed[])
    .filter(({ mutatorName }) => mutatorName !== 'StringLiteral')
    .map((mutant) => ({ mutant, order: hashOf(seed + keyOf(mutant.fileName, mutant, 0)) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ mutant }) => mutant);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
