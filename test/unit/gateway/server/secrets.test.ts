import { expect, test } from 'vitest';
import { compileSecrets } from '../../../../src/gateway/server/secrets.ts';

test('a secret matches if it is one of those that are accepted', () => {
  const isSecret = compileSecrets(['first-secret', 'second']);
  expect(['first-secret', 'second'].map(isSecret)).toEqual([true, true]);
});

test.each(['', 'First-secret', 'first-secre', 'first-secret ', 'first-secret,second', 'secret'])(
  '%j does not match',
  (given) => expect(compileSecrets(['first-secret', 'second'])(given)).toBe(false),
);

test('without an accepted secret nothing matches, not even an empty one', () => {
  expect(compileSecrets([])('')).toBe(false);
});

test('bytes beyond ASCII are compared as headers carry them', () => {
  const isSecret = compileSecrets(['geh\u00e9im']);
  expect(isSecret('geh\u00e9im')).toBe(true);
  expect(isSecret('geheim')).toBe(false);
});
