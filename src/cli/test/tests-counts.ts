import type { Place } from '../../gateway/config/diagnostic.ts';
import { answerLines, bySubject } from '../output/explanation-lines.ts';
import { columns } from '../output/output.ts';
import type { Failure, TestResult, TestRun } from '../policy-tests/result.ts';

export interface TestCounts {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly requests: number;
}

export function countsOf({ files }: TestRun): TestCounts {
  const all = files.flatMap(({ tests }) => tests);
  const count = (wanted: TestResult['result']) =>
    all.filter(({ result }) => result === wanted).length;
  return {
    tests: all.length,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
  };
}

function placeText(file: string, { line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

export function failureLines(file: string, failure: Failure): string[] {
  const { place, step, refusal, mismatches, trace, answer } = failure;
  const rows = mismatches.map(({ what, expected, actual }) => [what, expected, actual]);
  return [
    `${placeText(file, place)}: ${step}`,
    ...(refusal === undefined ? [] : [`  refused: ${refusal}`]),
    ...(rows.length === 0 ? [] : columns([['', 'expected', 'actual'], ...rows]).map(indented)),
    ...(answer === undefined
      ? []
      : bySubject([...trace, ...answerLines(answer, [answerText(answer)])]).map(indented)),
  ];
}

function answerText({ status, dialect }: NonNullable<Failure['answer']>): string {
  return `${status}, sent to ${dialect}`;
}

export function indented(line: string): string {
  return `  ${line}`;
}
