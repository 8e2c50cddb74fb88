import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findTestFiles } from '../../../../src/cli/policy-tests/find-test-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-find-'));
afterAll(() => rmSync(folder, { recursive: true }));

for (const each of ['a/b', 'node_modules', '.git', 'a/.x', 'c_test.yaml'])
  mkdirSync(join(folder, each), { recursive: true });
for (const each of [
  'z_test.yml',
  'a_test.yaml',
  'a/b/deep_test.yaml',
  'a/test.yaml',
  'a/x_test.json',
  'a/other.yaml',
  'node_modules/m_test.yaml',
  '.git/g_test.yaml',
  'a/.x/h_test.yaml',
  'c_test.yaml/in_test.yaml',
])
  writeFileSync(join(folder, each), '');
symlinkSync(folder, join(folder, 'a/around'));
symlinkSync('nowhere', join(folder, 'lost_test.yaml'));
symlinkSync('a_test.yaml', join(folder, 'linked_test.yaml'));

const found = (...paths: string[]) =>
  findTestFiles(paths.map((each) => join(folder, each))).map((each) => relative(folder, each));

test('folders are searched at any depth, in the order of names', () => {
  expect(found('.')).toEqual([
    'a/b/deep_test.yaml',
    'a_test.yaml',
    'c_test.yaml/in_test.yaml',
    'linked_test.yaml',
    'z_test.yml',
  ]);
});

test('a file that is named is taken, and no file twice', () => {
  expect(found('a/other.yaml', 'a', 'a/b')).toEqual(['a/other.yaml', 'a/b/deep_test.yaml']);
  expect(found('.git', 'node_modules')).toEqual(['.git/g_test.yaml', 'node_modules/m_test.yaml']);
});

test('a path that is not there is an error', () => {
  expect(() => found('nothing')).toThrow('ENOENT');
});
