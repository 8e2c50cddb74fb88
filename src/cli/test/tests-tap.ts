/**
 * Formats the results of policy tests as TAP 13 (https://testanything.org/tap-version-13-specification.html), which all
 * readers know. `prove` of Perl before 5.38 refuses 14, and reads a part of YAML: no key with blanks, unless it is quoted.
 */
import { stringify } from 'yaml';
import { printable } from '../../gateway/core/printable.ts';
import { linesIn } from '../output/output.ts';
import { titleOf } from '../policy-tests/policy-tests.ts';
import type { Failure, TestResult, TestRun } from '../policy-tests/result.ts';
import { failureLines, indented } from './tests-counts.ts';

export function asTap({ files }: TestRun): string[] {
  const all = files.flatMap(({ file, tests }) => tests.map((test) => ({ file, test })));
  return [
    'TAP version 13',
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
    expected: byName(failure, 'expected'),
    actual: byName(failure, 'actual'),
    details: failureLines(file, failure),
  }));
  const document = { at: { file, ...place }, failures: details };
  const yaml = linesIn(stringify(document, asPrintable, QUOTED)).map(notAsHash);
  return [line, ...['---', ...yaml, '...'].map(indented)];
}

const QUOTED = {
  lineWidth: 0,
  defaultStringType: 'QUOTE_DOUBLE',
  defaultKeyType: 'QUOTE_DOUBLE',
} as const;

function byName({ mismatches }: Failure, side: 'expected' | 'actual') {
  return Object.fromEntries(mismatches.map((each) => [printable(each.what), each[side]]));
}

/** `prove` takes a text in a list for a key and its value if a colon follows the first word, also within quotes. */
function notAsHash(line: string): string {
  const isText = /^ *- "(?:\\.|[^"\\])*"$/.test(line);
  return isText ? line.replace(/^( *- "\S*\s*):(?=\s)/, '$1\\x3a') : line;
}

/** `#` would begin a directive. */
function escaped(text: string): string {
  return printable(text).replaceAll(/[\\#]/g, (char) => `\\${char}`);
}

function asPrintable(_key: unknown, value: unknown): unknown {
  return typeof value === 'string' ? printable(value) : value;
}
