/** The shipped test file, the JSON Schema, and the examples of docs/testing-policies.md. */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { coveredPercent } from '../../../../src/cli/policy-tests/coverage.ts';
import { testFileSchema } from '../../../../src/cli/policy-tests/test-file-schema.ts';
import { jsonSchemaOf } from '../../../../src/gateway/config/policy-file/policy-file-schema.ts';
import { mistakesIn, runFiles, testFile } from '../../../support/policy-tests.ts';

const ROOT = new URL('../../../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const POLICIES = read('config/policies.yaml');
const TESTS = read('config/policies_test.yaml');
const isValid = new Ajv({ strict: false }).compile(JSON.parse(jsonSchemaOf(testFileSchema)));

/** Whether all tests pass and cover every limit. */
async function holdsFor(policies: string): Promise<boolean> {
  const { files, coverage } = await runFiles({
    'policies.yaml': policies,
    'policies_test.yaml': TESTS,
  });
  const tests = files.flatMap((file) => file.tests);
  return tests.every(({ result }) => result === 'passed') && coveredPercent(coverage) === 100;
}

test('the shipped tests pass and cover every limit of the shipped policy file', async () => {
  expect(await holdsFor(POLICIES)).toBe(true);
});

const { policies, ...others } = parse(POLICIES);

const names: string[] = policies.map(({ name }: { name: string }) => name);

describe.each(names)('the policy %s', (name) => {
  test('cannot be deleted without a test noticing', async () => {
    const left = policies.filter((each: { name: string }) => each.name !== name);
    const files = { 'policies.yaml': stringify({ ...others, policies: left }) };
    const mistakes = await mistakesIn({ ...files, 'policies_test.yaml': TESTS });
    expect(mistakes).toContainEqual(expect.stringContaining('is not a policy of policies.yaml'));
  });

  test('cannot be switched off without a test noticing', async () => {
    for (const mode of ['off', 'shadow']) {
      const changed = policies.map((each: { name: string }) =>
        each.name === name ? { ...each, mode } : each,
      );
      expect(await holdsFor(stringify({ ...others, policies: changed }))).toBe(false);
    }
  });
});

test('no limit of the shipped file can be deleted or changed by one without a test noticing', async () => {
  for (const [rate] of POLICIES.matchAll(/\b\d+\/\d+(?:min|h)\b/g)) {
    const [limit = '', window = ''] = rate.split('/');
    for (const change of [1, -1]) {
      const changed = POLICIES.replace(rate, `${Number(limit) + change}/${window}`);
      expect(await holdsFor(changed), `${rate} ${change}`).toBe(false);
    }
  }
});

const examples = [...read('docs/testing-policies.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  ([, text = '']) => text,
);

test('the page has examples', () => {
  expect(examples.length).toBeGreaterThan(2);
});

/** The example of the page about policy files, as a whole file. */
const [, CHARGING = ''] =
  /## Policy keys\n\n```yaml\n([\s\S]*?)```/.exec(read('docs/charging-afterwards.md')) ?? [];

/** The example of the page about the keys, as the policies of a whole file. */
const [, OF_MCP = ''] =
  /### `policies\[\]\.match\.mcp`[\s\S]*?```yaml\n([\s\S]*?)```/.exec(
    read('docs/configuration.md'),
  ) ?? [];
const MCP = `version: 1\ndefault: { limits: [9/1h] }\n${OF_MCP}`;

test.each(examples)('passes as the page shows it:\n%s', async (example) => {
  const files = { 'policies.yaml': POLICIES, 'charging.yaml': CHARGING, 'mcp.yaml': MCP };
  const run = await runFiles({ ...files, 'example_test.yaml': example });
  const tests = run.files.flatMap((file) => file.tests);
  expect(tests.filter(({ result }) => result === 'failed')).toEqual([]);
});

test('the page explains every key', () => {
  const page = read('docs/testing-policies.md');
  const keysOf = (schema: object): string[] =>
    Object.entries(schema).flatMap(([key, value]) => [
      ...(key === 'properties' ? Object.keys(value) : []),
      ...(typeof value === 'object' && value !== null ? keysOf(value) : []),
    ]);
  const keys = new Set(keysOf(JSON.parse(jsonSchemaOf(testFileSchema))));
  expect(keys.size).toBeGreaterThan(30);
  for (const key of keys) expect(page).toMatch(new RegExp(`\\b${key}\\b`));
});

test('the shipped JSON Schema is up to date (else: npm start -s -- schema tests > config/policy-tests.schema.json)', () => {
  expect(read('config/policy-tests.schema.json')).toBe(jsonSchemaOf(testFileSchema));
});

test.each([TESTS, ...examples])('the JSON Schema accepts\n%s', (text) => {
  isValid(parse(text));
  expect(isValid.errors).toBeNull();
});

test.each([
  '{ store: dwn }',
  '{ sned: POST /login }',
  '{ send: login }',
  '{ at: 10 }',
  '{ expect: alow }',
  '{ expect: { remaning: 1 } }',
  '{ override: { mode: { policy: login, mode: of } } }',
])('the JSON Schema refuses the step %s', (step) => {
  expect(isValid(parse(testFile(['{ store: down }'])))).toBe(true);
  expect(isValid(parse(testFile([step])))).toBe(false);
});
