import type { Place } from '../../gateway/config/diagnostic.ts';
import type { ExplainedAnswer } from '../../gateway/operations/explain.ts';
import type { Step as TraceStep } from '../../gateway/operations/explain-text.ts';
import type { Mismatch } from './compare.ts';
import type { FileCoverage } from './coverage.ts';
import type { PolicyTest } from './policy-test.ts';

export interface FileResult {
  readonly file: string;
  readonly policies: string;
  readonly tests: readonly TestResult[];
}

export interface TestResult extends Pick<PolicyTest, 'name' | 'place' | 'skip'> {
  readonly result: 'passed' | 'failed' | 'skipped';
  readonly requests: number;
  readonly failures: readonly Failure[];
}

/** A step that failed: a request that did not get what was expected, or a change that was refused. */
export interface Failure {
  readonly place: Place;
  /** The step in words: `POST /api/auth/login by alice at 10s`. */
  readonly step: string;
  readonly mismatches: readonly Mismatch[];
  readonly refusal: string | undefined;
  readonly trace: readonly TraceStep[];
  readonly answer: ExplainedAnswer | undefined;
}

export interface TestRun {
  readonly files: readonly FileResult[];
  readonly coverage: readonly FileCoverage[];
}
