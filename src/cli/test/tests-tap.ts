/** Formats the results of policy tests as TAP 14 (https://testanything.org/tap-version-14-specification.html). */
import { stringify } from 'yaml';
import { printable } from '../../gateway/core/printable.ts';
import { linesIn } from '../output/output.ts';
import { titleOf } from '../policy-tests/policy-tests.ts';
import type { TestResult, TestRun } from '../policy-tests/result.ts';
import { failureLines, indented } from './tests-counts.ts';

export function asTap({ files }: TestRun): string[] {
  const all = files.flatMap(({ file, tests }) => tests.map((test) => ({ file, test })));
  return [
    'TAP version 14',
    `1..${all.length}`,
    ...all.flatMap(({ file, test }, i) => testLines(file, test, i + 1)),
  ];
}

function testLines(file: string, test: TestResult, number: number): string[] {
  const { name, place, skip, failures } = test;
  const status = failures.length === 0 ? 'ok' : 'not ok';
  const directive = skip === undefined ? '' : ` # SKIP ${printable(skip)}`;
  const line = `${status} ${number} - ${escaped(titleOf(file, name))}${directive}`;
  if (failures.length === 0) return [line];
  const details = failures.map((failure) => ({
    message: failure.step,
    severity: 'fail',
    at: { file, ...failure.place },
    expected: Object.fromEntries(failure.mismatches.map((each) => [each.what, each.expected])),
    actual: Object.fromEntries(failure.mismatches.map((each) => [each.what, each.actual])),
    details: failureLines(file, failure),
  }));
  const document = { at: { file, ...place }, failures: details };
  const yaml = linesIn(stringify(document, asPrintable, { lineWidth: 0 }));
  return [line, ...['---', ...yaml, '...'].map(indented)];
}

/** `#` would begin a directive. */
function escaped(text: string): string {
  return printable(text).replaceAll(/[\\#]/g, (char) => `\\${char}`);
}

function asPrintable(_key: unknown, value: unknown): unknown {
  return typeof value === 'string' ? printable(value) : value;
}
