import { describe, expect, test } from 'vitest';
import { readDocuments, type YamlNode } from '../../../../../src/gateway/config/yaml/yaml-node.ts';

const first = (text: string) => readDocuments(text, 'f.yaml')[0] as YamlNode;

describe('a document', () => {
  const text = 'kind: A\nlist: [1, yes]\nbase: &base { b: 1 }\nown:\n  <<: *base\n  c: text\n';
  test('gives values by their keys, also those that a map merges', () => {
    expect(first(text).get('own', 'c')?.text).toBe('text');
    expect(first(text).get('own', 'b')?.number).toBe(1);
    expect(first(text).getAnyCase('KIND')?.text).toBe('A');
    expect(first(text).get('own', 'c', 'missing')).toBeUndefined();
  });
  test('gives the place of a key, and of the value', () => {
    const own = first(text).get('own');
    expect(own?.place).toEqual({ file: 'f.yaml', line: 4, column: 1 });
    expect(own?.valuePlace).toEqual({ file: 'f.yaml', line: 5, column: 3 });
  });
  test('gives lists and plain data', () => {
    const list = first(text).get('list');
    expect(list?.texts()).toEqual(['1', 'yes']);
    expect(list?.items().map(({ isTrue }) => isTrue)).toEqual([false, true]);
    expect(first(text).get('base')?.toData()).toEqual({ b: 1 });
  });
  test('finds the maps with a key, and which value is inside another', () => {
    const root = first('a:\n  name: x\nb:\n  - name: y\n');
    const maps = root.mapsWith('name');
    expect(maps.map((map) => map.get('name')?.text)).toEqual(['x', 'y']);
    expect(maps.map((map) => root.get('b')?.contains(map))).toEqual([false, true]);
  });
});

test('reads several documents', () => {
  const documents = readDocuments('a: 1\n---\na: 2\n', 'f.yaml');
  expect(documents.map((each) => each.get('a')?.number)).toEqual([1, 2]);
});

test.each([
  ['', { line: 1, column: 1 }, 'the file is empty'],
  ['a: 1\na: 2', { line: 2, column: 1 }, 'this key is repeated, keep one of them'],
  ['['.repeat(65), { line: 1, column: 1 }, 'the file is nested deeper than 64 levels'],
  ['a: {{ x }}\nb: ]', { line: 2, column: 4 }, expect.stringContaining('helm template')],
])('refuses %j', (text, place, message) => {
  expect(() => readDocuments(text, 'f.yaml')).toThrow(
    expect.objectContaining({ message, place: { file: 'f.yaml', ...place } }),
  );
});
