import { describe, expect, test } from 'vitest';
import { diagnostic, lineOf } from '../../../../src/gateway/config/diagnostic.ts';
import { placeDiagnostics } from '../../../../src/gateway/config/place-diagnostics.ts';
import { pathText } from '../../../../src/gateway/config/yaml-path.ts';
import { readYaml } from '../../../../src/gateway/config/yaml-text.ts';

const rule = 'invalid-value';
const message = 'is wrong';

describe('diagnostics', () => {
  const yaml = readYaml('a: 1\nidentity:\n  api_key: secret\nlist: [x]\n');
  const place = (...paths: (string | number)[][]) =>
    placeDiagnostics(
      paths.map((path) => ({ rule, path, message })),
      'f.yaml',
      yaml,
    );
  test('are in the order of the file', () => {
    expect(place(['list', 0], ['a']).map(({ path }) => path)).toEqual(['a', 'list[0]']);
  });
  test('have the place and the line of their value', () => {
    expect(place(['list', 0])).toEqual([
      {
        rule,
        severity: 'error',
        remedy: expect.stringContaining('`docs/policy-file.md`'),
        file: 'f.yaml',
        place: { line: 4, column: 8 },
        path: 'list[0]',
        message,
        excerpt: { text: 'list: [x]', caret: 7 },
      },
    ]);
  });
  test('show no line that may hold an API key', () => {
    const excerpts = place(['identity', 'api_key'], ['identity', 'sha256'], [0, 'id']);
    expect(excerpts.map(({ excerpt }) => excerpt)).toEqual([undefined, undefined, undefined]);
  });
  test('show no line if they are about the whole file or a key that is missing at its top', () => {
    const [whole] = place([]);
    expect(whole).toMatchObject({ message: 'the file is wrong', excerpt: undefined });
    const missing = (path: string[]) =>
      placeDiagnostics([{ rule: 'missing-key', path, message }], 'f.yaml', yaml)[0]?.excerpt;
    expect(missing(['default'])).toBeUndefined();
    expect(missing(['list', 'limits'])).toBeDefined();
  });
  test('use the offset of a draft', () => {
    const [found] = placeDiagnostics([{ rule, path: ['a'], message, offset: 5 }], 'f.yaml', yaml);
    expect(found?.place).toEqual({ line: 2, column: 1 });
  });
});

test.each([
  ['invalid-value', { line: 2, column: 3 }, 'f.yaml:2:3: a.b: is wrong'],
  ['invalid-value', undefined, 'f.yaml: a.b: is wrong'],
  ['limit-never-binds', { line: 2, column: 3 }, 'f.yaml:2:3: a.b: warning: is wrong'],
  ['bucket-bursts', { line: 2, column: 3 }, 'f.yaml:2:3: a.b: is wrong'],
] as const)('the line of %s at %j is "%s"', (id, place, line) => {
  expect(lineOf(diagnostic({ rule: id, file: 'f.yaml', place, path: 'a.b', message }))).toBe(line);
});

test.each([
  [['policies', 2, 'limits', 0], 'policies[2].limits[0]'],
  [[1, 'sha256'], '[1].sha256'],
  [['default', 'x'.repeat(32)], `default.${'x'.repeat(32)}`],
  [['default', 'x'.repeat(33)], 'default.(a long name)'],
  [[], ''],
])('the text of the path %j is "%s"', (path, text) => {
  expect(pathText(path)).toBe(text);
});
