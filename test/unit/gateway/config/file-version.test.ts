import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  areSame,
  becameShorter,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
} from '../../../../src/gateway/config/file-watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-version-'));
afterAll(() => rmSync(folder, { recursive: true }));

const OLD = join(folder, 'old.yaml');
const KEYS = join(folder, 'keys.yaml');

/** The versions before and after the change. */
function change(apply: () => void): [before: FileVersions, now: FileVersions] {
  writeFileSync(OLD, 'version: 1\n');
  writeFileSync(KEYS, '[]\n');
  const before = versionsOf([OLD, KEYS]);
  apply();
  return [before, versionsOf([OLD, KEYS])];
}

function replace(text: string): void {
  writeFileSync(`${OLD}.next`, text);
  renameSync(`${OLD}.next`, OLD);
}

test.each<[string, () => void, { same: boolean; inPlace: boolean; shorter: boolean }]>([
  ['nothing', () => {}, { same: true, inPlace: false, shorter: false }],
  [
    'a file that grows',
    () => appendFileSync(OLD, '# more\n'),
    { same: false, inPlace: true, shorter: false },
  ],
  [
    'a file that is truncated',
    () => writeFileSync(OLD, ''),
    { same: false, inPlace: true, shorter: true },
  ],
  [
    'a file that is replaced',
    () => replace('version: 1 # more\n'),
    { same: false, inPlace: false, shorter: false },
  ],
  [
    'a file that is replaced by a shorter one',
    () => replace('[]\n'),
    { same: false, inPlace: false, shorter: true },
  ],
  [
    'a file that is replaced by one of the same size',
    () => replace('version: 2\n'),
    { same: false, inPlace: false, shorter: false },
  ],
  ['a file that is removed', () => rmSync(OLD), { same: false, inPlace: true, shorter: true }],
  [
    'one file that is replaced and one that is written in place',
    () => {
      replace('version: 1 # more\n');
      appendFileSync(KEYS, '# more\n');
    },
    { same: false, inPlace: true, shorter: false },
  ],
])('tells %s', (_, apply, expected) => {
  const [before, now] = change(apply);
  expect({
    same: areSame(before, now),
    inPlace: isWrittenInPlace(before, now),
    shorter: becameShorter(before, now),
  }).toEqual(expected);
});

test('a file that is created may not be complete', () => {
  const path = join(folder, 'created.yaml');
  const before = versionsOf([path]);
  writeFileSync(path, 'version: 1\n');
  expect(isWrittenInPlace(before, versionsOf([path]))).toBe(true);
});

test('a new modification time is a change', () => {
  const [before, now] = change(() => utimesSync(OLD, 1, 1));
  expect(areSame(before, now)).toBe(false);
});
