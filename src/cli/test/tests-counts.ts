import { answerLines, bySubject } from '../output/explanation-lines.ts';
import { columns } from '../output/table.ts';
import type { Failure, TestResult, TestRun } from '../policy-tests/result.ts';

export function countsOf({ files }: TestRun) {
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

export function failureLines(file: string, failure: Failure): string[] {
  const { place, step, refusal, mismatches, trace, answer } = failure;
  const answerOf = (given: NonNullable<typeof answer>) => {
    const head = [`${given.status}, sent to ${given.dialect}`];
    return bySubject([...trace, ...answerLines(given, head)]).map(indented);
  };
  const rows = mismatches.map(({ what, expected, actual }) => [what, expected, actual]);
  return [
    `${file}:${place.line}:${place.column}: ${step}`,
    ...(refusal === undefined ? [] : [`  refused: ${refusal}`]),
    ...(rows.length === 0 ? [] : columns([['', 'expected', 'actual'], ...rows]).map(indented)),
    ...(answer === undefined ? [] : answerOf(answer)),
  ];
}

export function indented(line: string): string {
  return `  ${line}`;
}
