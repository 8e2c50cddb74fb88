/**
 * Removes what a running gateway does not read from an installed package: pages, types, source maps and tests of its
 * dependencies. package.json and license files stay: scanners and lawyers read them. `node tools/image/slim.ts FOLDER`
 */
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** In the package itself. */
const OF_THE_PACKAGE = ['docs', '*.md', 'dist/headgate.1', 'package-lock.json'];

const NOT_CODE = [
  '**/*.{md,markdown}',
  '**/*.{ts,cts,mts,tsx}',
  '**/*.map',
  '**/{test,tests,__tests__,benchmark,benchmarks,example,examples,docs}',
  // Settings of editors and of CI, links to commands, and the list that npm keeps for itself.
  '**/.*',
];

export function slim(folder: string): void {
  remove(folder, OF_THE_PACKAGE);
  remove(join(folder, 'node_modules'), NOT_CODE);
}

function remove(folder: string, patterns: readonly string[]): void {
  for (const path of globSync(patterns, { cwd: folder }))
    rmSync(join(folder, path), { recursive: true, force: true });
}

if (import.meta.main) {
  const [, , folder] = process.argv;
  if (folder === undefined) throw new Error('name the folder of the installed package');
  slim(folder);
}
