/** Findings as every output tells of them. */

import type { ExaminedFile } from '../../config/check/examine.ts';
import type { Finding } from '../../config/diagnostic.ts';
import { type Severity, severityOf } from '../../config/rules.ts';

/** Turns what was found in all files into what is printed. */
export type Output = (files: readonly ExaminedFile[]) => string;

export interface ToldFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly message: string;
}

/** Who reads it expects a line; the first one also stands for the file as a whole. */
export function toldFinding({ rule, file, place, path, message }: Finding): ToldFinding {
  const { line, column } = place ?? { line: 1, column: 1 };
  return { rule, severity: severityOf(rule), file, line, column, path, message };
}

/** What is meant, and what is wrong with it. */
export function sentenceOf({ path, message }: ToldFinding): string {
  return path === '' ? message : `${path}: ${message}`;
}

export function countOf(severity: Severity, files: readonly ExaminedFile[]): number {
  const rules = files.flatMap(({ findings }) => findings.map(({ rule }) => rule));
  return rules.filter((rule) => severityOf(rule) === severity).length;
}
