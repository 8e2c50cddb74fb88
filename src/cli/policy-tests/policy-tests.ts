import { type Diagnostic, FileError } from '../../gateway/config/diagnostic.ts';
import { Coverage } from './coverage.ts';
import type { TestFile } from './policy-test.ts';
import { readTestFile } from './read-test-file.ts';
import type { FileResult, TestRun } from './result.ts';
import { runTest } from './run-test.ts';
import { PolicyFileReader } from './tested-policies.ts';

export function readTestFiles(paths: readonly string[], cloudflareRanges: string): TestFile[] {
  const policyFiles = new PolicyFileReader(cloudflareRanges);
  const mistakes: Diagnostic[] = [];
  const files = paths.flatMap((path) => {
    try {
      return readTestFile(path, policyFiles) ?? [];
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      mistakes.push(...error.diagnostics);
      return [];
    }
  });
  const all = [...policyFiles.mistakes, ...mistakes];
  if (all.length > 0) throw new FileError(all);
  return files;
}

export function selectTests(files: readonly TestFile[], selects: Selects): TestFile[] {
  return files.flatMap((file) => {
    const tests = file.tests.filter(({ name }) => selects(titleOf(file.file, name)));
    return tests.length === 0 ? [] : [{ ...file, tests }];
  });
}

export async function runTests(files: readonly TestFile[]): Promise<TestRun> {
  const coverage = new Coverage();
  const results: FileResult[] = [];
  for (const { file, policies, setting, tests } of files) {
    coverage.add(policies);
    for (const step of tests.flatMap(({ steps }) => steps)) {
      if (step.kind === 'reload') coverage.add(step.policies);
    }
    const options = { policies, setting, onTake: coverage.record.bind(coverage) };
    const all = [];
    for (const test of tests) all.push(await runTest(test, options));
    results.push({ file, policies: policies.file, tests: all });
  }
  const tested = new Set(files.map(({ policies }) => policies.path));
  return { files: results, coverage: coverage.list(tested) };
}

/** Whether a test is run. `title`: the file and the name of the test. */
export type Selects = (title: string) => boolean;

export function titleOf(file: string, test: string): string {
  return `${file} › ${test}`;
}
