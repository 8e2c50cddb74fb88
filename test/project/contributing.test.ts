/** CONTRIBUTING.md: its map has every room of src/ with its real arrows, and every path that it names exists. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SRC = join(ROOT, 'src');
const TEXT = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const roomOf = (path: string) => path.split('/')[0]?.replace(/\.ts$/, '') ?? '';

/** The rooms that a room imports, in alphabetical order. */
function importsOf(room: string): string[] {
  const files = globSync(['*.ts', '**/*.ts'], { cwd: SRC }).filter((file) => roomOf(file) === room);
  const imported = files.flatMap((file) =>
    [...readFileSync(join(SRC, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
      .map(([, path = '']) => relative(SRC, join(SRC, dirname(file), path)))
      .filter((path) => !path.startsWith('..'))
      .map(roomOf),
  );
  return [...new Set(imported)].filter((name) => name !== room).sort();
}

test('the map has every room and what it imports', () => {
  const map = [...TEXT.matchAll(/^\| `src\/([\w.-]+)` \|[^|]+\| ([^|]+) \|$/gm)].map(
    ([, room = '', imports = '']) => `${roomOf(room)}: ${imports}`,
  );
  const rooms = readdirSync(SRC).map(roomOf);
  const actual = rooms.map((room) => `${room}: ${importsOf(room).join(', ') || 'nothing of ours'}`);
  expect(map.sort()).toEqual(actual.sort());
});

test('every path that it names exists', () => {
  const names = [...TEXT.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\/?|[\w-]+\.md)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !name.includes('NAME'));
  expect(names.length).toBeGreaterThan(50);
  for (const name of names) expect(existsSync(join(ROOT, name)), name).toBe(true);
});
