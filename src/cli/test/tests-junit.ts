/** Formats the results of policy tests as JUnit XML, which CI servers read. */
import { printable } from '../../gateway/core/printable.ts';
import type { FileResult, TestResult, TestRun } from '../policy-tests/result.ts';
import { countsOf, failureLines, indented } from './tests-counts.ts';

export function asJunit(run: TestRun): string[] {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="headgate test" ${countAttributes(run)}>`,
    ...run.files.flatMap(suiteOf).map(indented),
    '</testsuites>',
  ];
}

function countAttributes(run: TestRun): string {
  const { tests, failed, skipped } = countsOf(run);
  return `tests="${tests}" failures="${failed}" errors="0" skipped="${skipped}"`;
}

function suiteOf(result: FileResult): string[] {
  const { file, tests } = result;
  const counts = countAttributes({ files: [result], coverage: [] });
  return [
    `<testsuite name="${escaped(file)}" ${counts}>`,
    ...tests.flatMap((test) => caseOf(file, test)).map(indented),
    '</testsuite>',
  ];
}

function caseOf(file: string, { name, place, skip, failures }: TestResult): string[] {
  const attributes = `name="${escaped(name)}" classname="${escaped(file)}" file="${escaped(file)}" line="${place.line}"`;
  if (skip !== undefined) {
    return [`<testcase ${attributes}>`, `  <skipped message="${escaped(skip)}"/>`, '</testcase>'];
  }
  if (failures.length === 0) return [`<testcase ${attributes}/>`];
  return [
    `<testcase ${attributes}>`,
    ...failures.flatMap((failure) => [
      `  <failure message="${escaped(failure.step)}" type="unexpected">`,
      ...failureLines(file, failure).map(escaped),
      '  </failure>',
    ]),
    '</testcase>',
  ];
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** XML 1.0 allows no control characters, no half pairs and neither of two others, not even as references. */
function escaped(text: string): string {
  return printable(text)
    .toWellFormed()
    .replaceAll(/[\ufffe\uffff]/g, '\ufffd')
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
}
