/** What the outputs of `headgate check` share. */

import type { Diagnostic, Place, Severity } from '../../gateway/config/diagnostic.ts';

export interface ExaminedFile {
  readonly file: string;
  /** Number of policies, with the default; undefined if the file is invalid. */
  readonly policies: number | undefined;
  /** Number of limits in place of policies, if it is a rate limit file. Undefined if it is invalid. */
  readonly limits?: number | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Formats the diagnostics of all files. */
export type Output = (files: readonly ExaminedFile[]) => string;

/** Editors and CI need a line: a diagnostic about the whole file has line 1. */
export function placeOf({ place }: Diagnostic): Place {
  return place ?? { line: 1, column: 1 };
}

/** `path: message` */
export function sentenceOf({ path, message }: Diagnostic): string {
  return path === '' ? message : `${path}: ${message}`;
}

export function countOf(severity: Severity, files: readonly ExaminedFile[]): number {
  const all = files.flatMap(({ diagnostics }) => diagnostics);
  return all.filter((each) => each.severity === severity).length;
}
