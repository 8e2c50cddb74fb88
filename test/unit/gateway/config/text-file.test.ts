import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { FileError } from '../../../../src/gateway/config/diagnostic.ts';
import { displayName, readText } from '../../../../src/gateway/config/text-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-text-'));
afterAll(() => rmSync(folder, { recursive: true }));

const NAMED_BY = 'HEADGATE_POLICIES names the policy file';
const MIB = 1024 * 1024;

/** The message without the path. */
function mistakeIn(path: string): string | undefined {
  try {
    readText(path, NAMED_BY);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    expect(error.diagnostics).toMatchObject([{ rule: 'unreadable-file', severity: 'error' }]);
    return error.mistakes.join('\n').replace(path, '');
  }
  return undefined;
}

test('reads a regular file', () => {
  const path = join(folder, 'file.yaml');
  writeFileSync(path, 'version: 1 # ü\n');
  expect(readText(path)).toBe('version: 1 # ü\n');
});

test('reads a file of 16 MiB, and refuses one that is larger', () => {
  const path = join(folder, 'large.yaml');
  writeFileSync(path, '');
  truncateSync(path, 16 * MIB);
  expect(readText(path)).toHaveLength(16 * MIB);
  truncateSync(path, 16 * MIB + 1);
  expect(mistakeIn(path)).toBe(':1:1: the file has 16777217 bytes, the maximum is 16777216');
});

test.each<[string, (path: string) => void, string]>([
  ['a missing file', () => {}, `: does not exist; ${NAMED_BY}`],
  [
    'a directory',
    (path) => mkdirSync(path),
    ': cannot be read: it is a directory, name a file in it',
  ],
  [
    'a link to itself',
    (path) => symlinkSync(path, path),
    `: cannot be read: its symbolic links form a loop; ${NAMED_BY}`,
  ],
  ['a device', (path) => symlinkSync('/dev/null', path), ': cannot be read: not a regular file'],
  [
    'a named pipe without a writer',
    (path) => void execFileSync('mkfifo', [path]),
    ': cannot be read: not a regular file',
  ],
])('refuses %s', (name, create, expected) => {
  const path = join(folder, name.replaceAll(' ', '-'));
  create(path);
  expect(mistakeIn(path)).toBe(expected);
});

test('refuses a path through a file', () => {
  const path = join(folder, 'plain.yaml');
  writeFileSync(path, '');
  expect(mistakeIn(join(path, 'below'))).toContain('a part of its path is not a directory');
});

test('names a file relative to the working directory if it is below it', () => {
  expect(displayName(join(process.cwd(), 'config/policies.yaml'))).toBe('config/policies.yaml');
  expect(displayName(folder)).toBe(folder);
});
