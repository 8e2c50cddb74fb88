/** Directories of rate limit files, also as Kubernetes mounts them. Compared with goruntime, which envoyproxy/ratelimit uses. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compileRules } from '../../../../../src/gateway/ratelimit/rules/compile.ts';
import { isRuleFile } from '../../../../../src/gateway/ratelimit/rules/rule-file.ts';
import {
  listRuleFiles,
  readRuleFiles,
} from '../../../../../src/gateway/ratelimit/rules/rule-files.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-rules-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, text = `domain: ${name}\n`): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function listed() {
  const list = listRuleFiles([folder]);
  const names = (paths: readonly string[]) => paths.map((path) => relative(folder, path));
  return { files: names(list.files), leftOut: names(list.leftOut), folders: names(list.folders) };
}

test('a directory has the files in it and below it, by their path with dots', () => {
  for (const name of ['b.yaml', 'a/z.yaml', 'a.yaml', 'a/b/c', 'B.yml', '.hidden.yaml'])
    write(name);
  write('.git/config.yaml');
  expect(listed()).toEqual({
    files: ['B.yml', 'a/b/c', 'a.yaml', 'a/z.yaml', 'b.yaml'],
    leftOut: [],
    folders: ['', 'a', 'a/b'],
  });
});

function mountConfigMap(): void {
  write('..2026_11_23/config.yaml');
  write('..2026_11_23/more.yaml');
  symlinkSync('..2026_11_23', join(folder, '..data'));
  symlinkSync('..data/config.yaml', join(folder, 'config.yaml'));
  symlinkSync('..data/more.yaml', join(folder, 'more.yaml'));
}

test('reads each file of a ConfigMap once', () => {
  mountConfigMap();
  expect(listed().files).toEqual(['config.yaml', 'more.yaml']);
});

test('does not enter linked directories, also if they lead back', () => {
  write('a.yaml');
  symlinkSync('.', join(folder, 'again'));
  expect(listed()).toEqual({ files: ['a.yaml'], leftOut: ['again'], folders: [''] });
});

test('a directory that is named may be a link', () => {
  write('v1/a.yaml');
  symlinkSync('v1', join(folder, 'current'));
  const { files } = listRuleFiles([join(folder, 'current')]);
  expect(files).toEqual([join(folder, 'current/a.yaml')]);
});

test('keeps the order of the paths, and names each file once', () => {
  const [b = '', a = ''] = [write('b.yaml'), write('a.yaml')];
  expect(listRuleFiles([b, folder, a]).files).toEqual([b, a]);
  expect(readRuleFiles([b, folder, a]).read.map(({ value }) => value)).toEqual([
    { domain: 'b.yaml' },
    { domain: 'a.yaml' },
  ]);
  expect(listRuleFiles([b]).folders).toEqual([folder]);
});

test('reports what cannot be read together with the mistakes of other files', () => {
  write('a.yaml', 'domains: x\n');
  symlinkSync('nowhere', join(folder, 'b.yaml'));
  const { read } = readRuleFiles([folder, join(folder, 'missing')]);
  expect(() => compileRules(read, { mergeDomains: false })).toThrow(
    [
      `${folder}/a.yaml:1:1: domains: is not a known key, did you mean "domain"?`,
      `${folder}/a.yaml:1:1: domain: is missing, it must be the domain of the requests`,
      `${folder}/b.yaml: does not exist`,
      `${folder}/missing: does not exist`,
    ].join('\n'),
  );
});

test('an empty directory has no files', () => {
  expect(readRuleFiles([folder])).toEqual({ files: [], leftOut: [], folders: [folder], read: [] });
});

test.each([
  ['domain: d\ndescriptors: []\n', true],
  ['# text\n---\n"domain" : d\n', true],
  ['{ domain: d }', true],
  ['{"domain": "d"}', true],
  ['descriptors:\n- key: a\n', true],
  ['domain: "never closed', true],
  ['version: 1\ndefault: { limits: [5/1min] }\n', false],
  ['version: 1\npolicies:\n- domain: x\n', false],
  ['policies: []\ndomain: d\n', false],
  ['domains: d\n', false],
  ['services:\n  domain: d\n', false],
  ['', false],
])('%j is a rate limit file: %s', (text, expected) => {
  expect(isRuleFile(text)).toBe(expected);
});
