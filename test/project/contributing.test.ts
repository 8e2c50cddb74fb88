/** CONTRIBUTING.md: its map has every room of src/ with its real arrows, and every path that it names exists. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ROOMS } from './rooms.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXT = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

test('the map has every room and what it imports', () => {
  const map = [...TEXT.matchAll(/^\| `src\/([\w/-]+)` \|[^|]+\| ([^|]+) \|$/gm)].map(
    ([, room = '', imports = '']) => `${room}: ${imports}`,
  );
  const withWing = (room: string, wing: string) =>
    room.startsWith(`${wing}/`) ? room.slice(wing.length + 1) : room;
  const actual = Object.entries(ROOMS).map(([room, others]) => {
    const [wing = ''] = room.split('/');
    return `${room}: ${others.map((other) => withWing(other, wing)).join(', ') || 'nothing of ours'}`;
  });
  expect(map.sort()).toEqual(actual.sort());
});

test('every path that it names exists', () => {
  const names = [...TEXT.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\/?|[\w-]+\.md)`/g)]
    .map(([, name = '']) => name)
    .filter((name) => !name.includes('NAME'));
  expect(names.length).toBeGreaterThan(50);
  for (const name of names) expect(existsSync(join(ROOT, name)), name).toBe(true);
});
