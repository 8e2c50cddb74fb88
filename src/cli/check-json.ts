/** Findings for programs: one JSON document. */
import type { ExaminedFile } from '../config/policy-examination.ts';
import { countOf, toldFinding } from './check-findings.ts';

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
  return `${escaped(JSON.stringify(document, null, 2))}\n`;
}

/** What a terminal would obey is written as JSON may have it; the lines of the document stay. */
function escaped(json: string): string {
  return json.replace(/[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/gu, (char) =>
    Array.from({ length: char.length }, (_, i) => {
      return `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
