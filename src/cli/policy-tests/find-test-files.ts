import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const TEST_FILE_NAMES = '*_test.yaml or *_test.yml';
const TEST_FILE_NAME = /_test\.ya?ml$/;
const NOT_SEARCHED = /^(\..*|node_modules)$/;

/** A file is taken whatever its name is. Each file occurs once, in the order of the paths. Throws the error of a path that cannot be read. */
export function findTestFiles(paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]));
  const byFile = new Map(found.map((path) => [join(path), path]));
  return [...byFile.values()];
}

/** Links to folders are not followed, since they may lead around in a circle. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return NOT_SEARCHED.test(entry.name) ? [] : filesIn(path);
      return TEST_FILE_NAME.test(entry.name) && isFile(path) ? [path] : [];
    });
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
