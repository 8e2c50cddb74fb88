/** Formats diagnostics for programs: one JSON document. */

import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import { printableJson } from '../../gateway/core/printable.ts';
import { countOf, type ExaminedFile, placeOf } from './diagnostics.ts';

export function asJson(files: readonly ExaminedFile[]): string {
  const document = {
    files: files.map(({ file, policies, limits, diagnostics }) => ({
      file,
      valid: policies !== undefined || limits !== undefined,
      policies: policies ?? null,
      ...(limits === undefined ? {} : { limits }),
      findings: diagnostics.map(fieldsOf),
    })),
    errors: countOf('error', files),
    warnings: countOf('warning', files),
  };
  return `${printableJson(JSON.stringify(document, null, 2))}\n`;
}

/** Programs depend on these names. */
export function fieldsOf(diagnostic: Diagnostic) {
  const { rule, severity, file, path, message } = diagnostic;
  const { line, column } = placeOf(diagnostic);
  return { rule, severity, file, line, column, path, message };
}
