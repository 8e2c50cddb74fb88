/** What the author of a file wrote at an entry of a list. */
import { expect, test } from 'vitest';
import { YamlFile } from '../../../../../src/gateway/config/yaml/yaml-file.ts';

const commentsIn = (text: string, length: number) => {
  const yaml = new YamlFile(text, 'f.yaml');
  return Array.from({ length }, (_, i) => yaml.commentAt(['block'], i));
};

test.each<[string, string, (string | undefined)[]]>([
  ['on its line', 'block:\n  - 10.0.0.1 # one\n  - 10.0.0.2\n', ['one', undefined]],
  ['above it', 'block:\n  - 10.0.0.1\n  # two\n  - 10.0.0.2\n', [undefined, 'two']],
  ['above the first', 'block:\n  # one\n  - 10.0.0.1\n  - 10.0.0.2\n', ['one', undefined]],
  ['at the key of the list', 'block: # one\n  - 10.0.0.1\n', ['one']],
  ['at a list in one line', 'block: [10.0.0.1, 10.0.0.2] # both\n', ['both', 'both']],
  ['at a map in one line', 'block:\n  - { address: 10.0.0.1 } # one\n', ['one']],
  ['in a map', 'block:\n  - address: 10.0.0.1 # one\n    expires: 2026-12-31\n', ['one']],
  ['of several lines', 'block:\n  # one\n  #   and more\n  - 10.0.0.1\n', ['one and more']],
  ['on its line rather than above', 'block:\n  # above\n  - 10.0.0.1 # here\n', ['here']],
  ['after the list', 'block:\n  - 10.0.0.1\n  # the end\ndefault: {}\n', [undefined]],
  ['that is empty', 'block:\n  - 10.0.0.1 #\n', [undefined]],
  ['that is long', `block:\n  - 10.0.0.1 # ${'x'.repeat(300)}\n`, ['x'.repeat(200)]],
  ['of a text that is no list', 'block: 10.0.0.1 # one\n', [undefined]],
])('a comment %s', (_where, text, expected) => {
  expect(commentsIn(text, expected.length)).toEqual(expected);
});
