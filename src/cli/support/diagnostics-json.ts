/** Findings for programs: one JSON document. */
import type { ExaminedFile } from '../../config/check/examine.ts';
import { printableJson } from '../../core/printable.ts';
import { countOf, toldFinding } from './diagnostics.ts';

export function asJson(files: readonly ExaminedFile[]): string {
  const document = {
    files: files.map(({ file, policies, findings }) => ({
      file,
      valid: policies !== undefined,
      policies: policies ?? null,
      findings: findings.map(toldFinding),
    })),
    errors: countOf('error', files),
    warnings: countOf('warning', files),
  };
  return `${printableJson(JSON.stringify(document, null, 2))}\n`;
}
