/** A test file may name any file of the machine, so what is in a file of another kind is not told. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keyOfClient, PolicyFileReader } from '../../../../src/cli/policy-tests/tested-policies.ts';
import { SHIPPED_RANGES } from '../../../../src/gateway/config/shipped-files.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const GOOD = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [100/1min] }\n';
const NO_KEYS = { sent: new Set<string>(), listed: [] };

/** Reads a policy file beside the test file, or elsewhere: what was thrown, and the rules of the mistakes. */
function reading(text: string | undefined, isElsewhere: boolean) {
  using stack = new DisposableStack();
  const folder = temporaryFolder(stack);
  const own = join(folder, 'tests');
  mkdirSync(own);
  const path = join(isElsewhere ? folder : own, 'policies.yaml');
  if (text !== undefined) writeFileSync(path, text);
  const reader = new PolicyFileReader(SHIPPED_RANGES);
  let thrown = '';
  let found: ReturnType<PolicyFileReader['read']>;
  for (let i = 0; i < 2; i++) {
    try {
      found = reader.read(path, NO_KEYS, own);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
      thrown = (error as Error).message;
    }
  }
  const mistakes = reader.mistakes.map(({ rule, path: at }) => `${rule} ${at}`);
  return { thrown, mistakes, policies: found?.set.policies.map(({ name }) => name) };
}

test('a valid file is read, wherever it is', () => {
  for (const isElsewhere of [true, false]) {
    const expected = { thrown: '', mistakes: [], policies: ['default'] };
    expect(reading(GOOD, isElsewhere)).toEqual(expected);
  }
});

test('a file that is not there is named with the reason', () => {
  const { thrown, mistakes } = reading(undefined, false);
  expect(thrown).toMatch(/^names \S*policies\.yaml, which /);
  expect(mistakes).toEqual([]);
});

test('a mistake is told once, wherever the file is, if it is a policy file', () => {
  const wrong = GOOD.replace('100/1min', 'many');
  for (const isElsewhere of [true, false]) {
    const { thrown, mistakes, policies } = reading(wrong, isElsewhere);
    expect([thrown, policies]).toEqual(['', undefined]);
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain('default.limits[0]');
  }
});

test('a file elsewhere that lacks a key within is a policy file', () => {
  const lacking = `${GOOD}policies: [{ match: { path: /a }, limits: [5/1min] }]\n`;
  const { thrown, mistakes } = reading(lacking, true);
  expect(thrown).toBe('');
  expect(mistakes).toEqual(['missing-key policies[0].name']);
});

test.each([
  ['no YAML', '{ a: ['],
  ['a text', 'root:x:0:0'],
  ['a map of something else', 'password: hunter2\n'],
  ['a list', '- hunter2\n'],
  ['a policy file without its version', GOOD.replace('version: 1\n', '')],
])('%s elsewhere: nothing of it is told', (_, text) => {
  const { thrown, mistakes } = reading(text, true);
  expect(thrown).toMatch(/^names \S*policies\.yaml, which /);
  expect(thrown).not.toContain('hunter2');
  expect(mistakes).toEqual([]);
  // Beside the test file it is told.
  const beside = reading(text, false);
  expect(beside.thrown).toBe('');
  expect(beside.mistakes.length).toBeGreaterThan(0);
});

test('a client sends a key that only tests know', () => {
  expect(keyOfClient('a')).toMatch(/^[0-9a-f]{64}$/);
  expect(keyOfClient('a')).not.toBe(keyOfClient('b'));
});
