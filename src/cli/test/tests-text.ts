import { columns } from '../output/table.ts';
import {
  coveredPercent,
  type FileCoverage,
  isCovered,
  type LimitCoverage,
} from '../policy-tests/coverage.ts';
import type { TestResult, TestRun } from '../policy-tests/result.ts';
import { countsOf, failureLines, indented } from './tests-counts.ts';

const WORDS: Readonly<Record<TestResult['result'], string>> = {
  passed: 'ok',
  failed: 'FAIL',
  skipped: 'skip',
};

export function asText(run: TestRun, withCoverage: boolean): string[] {
  const { tests, passed, failed, skipped, requests } = countsOf(run);
  const words = [`${passed} passed`, `${failed} failed`, `${skipped} skipped`];
  const total = `${tests} test${tests === 1 ? '' : 's'}: ${words.join(', ')}; ${requests} requests`;
  const table = withCoverage ? coverageLines(run.coverage) : [];
  const lines = run.files.flatMap(({ file, tests }) => [
    file,
    ...tests.flatMap((test) => testLines(file, test).map(indented)),
  ]);
  return [...lines, total, ...table];
}

function testLines(file: string, { name, result, skip, failures }: TestResult): string[] {
  const reason = skip === undefined ? '' : ` (${skip})`;
  return [
    `${WORDS[result].padEnd(6)}${name}${reason}`,
    ...failures.flatMap((failure) => failureLines(file, failure)).map((line) => `      ${line}`),
  ];
}

export function coverageLines(files: readonly FileCoverage[]): string[] {
  return files.flatMap(({ file, limits }) => {
    const covered = limits.filter(isCovered).length;
    const percent = Math.floor(coveredPercent([{ file, limits }]));
    return [
      '',
      `${file}: ${covered} of ${limits.length} limits covered, ${percent} %`,
      ...columns([
        ['', 'limit', '', 'matched', 'admitted', 'denied', 'in shadow'],
        ...limits.map(rowOf),
      ]).map(indented),
    ];
  });
}

function rowOf(limit: LimitCoverage): string[] {
  const { label, plan, description, matched, admitted, denied, inShadow } = limit;
  return [
    isCovered(limit) ? 'ok' : missingPart(limit),
    plan === undefined ? label : `${label} (plan ${plan})`,
    description,
    ...[matched, admitted, denied, inShadow].map(String),
  ];
}

function missingPart({ matched, admitted }: LimitCoverage): string {
  if (matched === 0) return 'NEVER MATCHED';
  return admitted === 0 ? 'NEVER ADMITTED' : 'NEVER DENIED';
}
