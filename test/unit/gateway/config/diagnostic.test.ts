import { expect, test } from 'vitest';
import { diagnostic, lineOf, pathText } from '../../../../src/gateway/config/diagnostic.ts';

const message = 'is wrong';

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
