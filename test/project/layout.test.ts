/** Tests and their helpers stand where CONTRIBUTING.md says. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILES = globSync('{test,tools,bench}/**/*.ts', { cwd: ROOT });

test('every folder of test/unit is a folder of src, or of web', () => {
  const folders = new Set(
    FILES.filter((file) => file.startsWith('test/unit/')).map((file) =>
      relative('test/unit', dirname(file)),
    ),
  );
  expect(folders.size).toBeGreaterThan(20);
  const tested = (folder: string) =>
    folder.startsWith('web/') ? join(ROOT, folder) : join(ROOT, 'src', folder);
  expect([...folders].filter((folder) => !existsSync(tested(folder)))).toEqual([]);
});

test('a helper of test/support is used by unit tests or by several folders', () => {
  const users = usersOfHelpers();
  expect(users.size).toBeGreaterThan(50);
  const misplaced = [...users].filter(
    ([, folders]) => folders.size === 1 && !folders.has('test/unit'),
  );
  expect(misplaced.map(([file, folders]) => `${file} belongs to ${[...folders]}`)).toEqual([]);
});

/** The folders whose files use a helper, also through other helpers. */
function usersOfHelpers(): Map<string, Set<string>> {
  const importers = new Map<string, string[]>();
  for (const file of FILES) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/'(\.{1,2}\/[^']+\.ts)'/g)) {
      const imported = normalize(join(dirname(file), path));
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  const isHelper = (file: string) => file.startsWith('test/support/');
  const foldersOf = (file: string, seen = new Set([file])): string[] =>
    (importers.get(file) ?? []).flatMap((user) => {
      if (!isHelper(user)) return [user.split('/').slice(0, 2).join('/')];
      return seen.has(user) ? [] : foldersOf(user, seen.add(user));
    });
  return new Map(FILES.filter(isHelper).map((file) => [file, new Set(foldersOf(file))]));
}
