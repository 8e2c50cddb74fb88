/** Formats the results of policy tests for programs: one JSON document. Programs depend on these names. */
import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import { printableJson } from '../../gateway/core/printable.ts';
import { fieldsOf } from '../output/diagnostics.ts';
import { linesIn } from '../output/output.ts';
import {
  coveredPercent,
  type FileCoverage,
  isCovered,
  type LimitCoverage,
} from '../policy-tests/coverage.ts';
import type { Failure, TestResult, TestRun } from '../policy-tests/result.ts';
import { countsOf } from './tests-counts.ts';

export function asJson(run: TestRun, withCoverage: boolean): string[] {
  return linesOf({
    files: run.files.map(({ file, policies, tests }) => ({
      file,
      policies,
      tests: tests.map(testFields),
    })),
    ...countsOf(run),
    ...(withCoverage && { coverage: coverageFields(run.coverage) }),
    mistakes: [],
  });
}

export function mistakesAsJson(diagnostics: readonly Diagnostic[]): string[] {
  const nothing = countsOf({ files: [], coverage: [] });
  return linesOf({ files: [], ...nothing, mistakes: diagnostics.map(fieldsOf) });
}

function linesOf(document: object): string[] {
  return linesIn(printableJson(JSON.stringify(document, null, 2)));
}

function testFields({ name, place, result, skip, requests, failures }: TestResult) {
  const reason = skip === undefined ? {} : { skip };
  return { name, ...place, result, ...reason, requests, failures: failures.map(failureFields) };
}

function failureFields({ place, step, refusal, mismatches, trace, answer }: Failure) {
  return {
    ...place,
    step,
    ...(refusal !== undefined && { refusal }),
    mismatches,
    trace,
    ...(answer !== undefined && { answer }),
  };
}

function coverageFields(files: readonly FileCoverage[]) {
  return {
    percent: coveredPercent(files),
    files: files.map(({ file, limits }) => ({ file, limits: limits.map(limitFields) })),
  };
}

function limitFields(row: LimitCoverage) {
  const { policy, plan, label, description, matched, admitted, denied, inShadow } = row;
  return {
    policy,
    ...(plan !== undefined && { plan }),
    label,
    description,
    covered: isCovered(row),
    ...{ matched, admitted, denied, in_shadow: inShadow },
  };
}
