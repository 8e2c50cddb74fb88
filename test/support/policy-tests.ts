/** Test files of policies in a folder, and what running them gives. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTestFiles, runTests } from '../../src/cli/policy-tests/policy-tests.ts';
import type { TestRun } from '../../src/cli/policy-tests/result.ts';
import { FileError } from '../../src/gateway/config/diagnostic.ts';
import { SHIPPED_RANGES } from '../../src/gateway/config/shipped-files.ts';

export const POLICIES = `version: 1
identity: { sources: [api_key, user, ip], user: { header: x-user } }
default: { limits: [1000/1h], plans: { pro: [2000/1h] } }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [2/1min] }
  - { name: pay, match: { path: /pay }, limits: [4/31d], on_store_failure: local }
  - { name: admin, match: { path: /admin, host: a.example.com }, limits: [1/1h], on_store_failure: deny }
  - { name: trial, match: { path: /trial }, limits: [1/1h], mode: shadow }
`;

const CLIENTS = `clients:
  alice: { address: 203.0.113.9 }
  bob: { address: 198.51.100.7, headers: { x-user: bob } }
`;

/** Runs test files of these texts, by name, in a folder with other files. */
export async function runFiles(files: Readonly<Record<string, string>>): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-policy-tests-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const tests = Object.keys(files).filter((name) => name.includes('_test'));
    return await runTests(
      readTestFiles(
        tests.map((name) => join(folder, name)),
        SHIPPED_RANGES,
      ),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A test file with one test of these steps, each as flow YAML. `head` is written before them. */
export function testFile(steps: readonly string[], head = CLIENTS): string {
  const lines = steps.map((step) => `      - ${step}\n`).join('');
  return `policies: policies.yaml\n${head}tests:\n  - name: a test\n    steps:\n${lines}`;
}

/** What each failed step got, as `step: what: expected, not actual`; empty if all passed. */
export async function failuresOf(
  steps: readonly string[],
  head?: string,
  others: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const files = { 'policies.yaml': POLICIES, 'a_test.yaml': testFile(steps, head), ...others };
  const { files: results } = await runFiles(files);
  const failures = results.flatMap(({ tests }) => tests.flatMap((each) => each.failures));
  return failures.flatMap(({ step, refusal, mismatches }) =>
    refusal === undefined
      ? mismatches.map(
          ({ what, expected, actual }) => `${step}: ${what}: ${expected}, not ${actual}`,
        )
      : [`${step}: ${refusal}`],
  );
}

/** The mistakes of test files, as `line:column: rule: path: message`. */
export async function mistakesIn(files: Readonly<Record<string, string>>): Promise<string[]> {
  try {
    await runFiles({ 'policies.yaml': POLICIES, ...files });
    return [];
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return error.diagnostics.map(({ place, rule, path, message }) => {
      const where = place === undefined ? '' : `${place.line}:${place.column}: `;
      const text = message.replaceAll(/\S*\/(?=[\w-]+\.yaml)/g, '');
      return `${where}${rule}: ${path === '' ? '' : `${path}: `}${text}`;
    });
  }
}
