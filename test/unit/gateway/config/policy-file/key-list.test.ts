import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { FileError } from '../../../../../src/gateway/config/diagnostic.ts';
import { readKeyFile } from '../../../../../src/gateway/config/policy-file/key-list.ts';

const sha256 = (key: string) => hash('sha256', key, 'hex');

function diagnosticsOf(text: string) {
  try {
    readKeyFile(text, 'keys.yaml');
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics;
    throw error;
  }
  return [];
}

test('reads listed keys', () => {
  const text = `- { id: acme, sha256: ${sha256('a')}, plan: pro }\n- { id: acme, sha256: ${sha256('b')} }\n`;
  expect(readKeyFile(text, 'keys.yaml')).toEqual([
    { id: 'acme', sha256: sha256('a'), plan: 'pro' },
    { id: 'acme', sha256: sha256('b') },
  ]);
});

test.each([
  ['that is not YAML', '- { id: a, sha256: my-secret-key\n'],
  ['with a repeated key of a map', '- { id: a, id: b, sha256: my-secret-key }\n'],
  ['with a key in place of its digest', '- { id: a, sha256: my-secret-key }\n'],
  ['with an unknown key of a map', '- { my-secret-key: a }\n'],
  ['with a map in place of a list', 'my-secret-key: a\n'],
])('shows no line of a key file %s', (_, text) => {
  const found = diagnosticsOf(text);
  expect(found.length).toBeGreaterThan(0);
  expect(found.map(({ excerpt }) => excerpt)).toEqual(found.map(() => undefined));
  expect(found.map(({ file }) => file)).toEqual(found.map(() => 'keys.yaml'));
});

test('reports each entry that repeats a key, at most 100 of them', () => {
  const entries = (count: number) => `- { id: a, sha256: ${sha256('a')} }\n`.repeat(count);
  expect(diagnosticsOf(entries(3)).map(({ rule, path }) => `${rule} ${path}`)).toEqual([
    'key-twice [1].sha256',
    'key-twice [2].sha256',
  ]);
  expect(diagnosticsOf(entries(150))).toHaveLength(100);
});
