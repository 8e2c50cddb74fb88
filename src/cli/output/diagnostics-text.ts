/** Formats diagnostics for people: one or more lines for each, then a verdict on each file. */

import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import { printable } from '../../gateway/core/printable.ts';
import { countOf, type ExaminedFile, placeOf, sentenceOf } from './diagnostics.ts';

export function asText(files: readonly ExaminedFile[]): string {
  return files
    .flatMap((examined) => [...examined.diagnostics.flatMap(linesOf), verdictOn(examined)])
    .map((line) => `${printable(line)}\n`)
    .join('');
}

/** The place and the message, then the line with a mark below it. */
export function linesOf(diagnostic: Diagnostic): string[] {
  const { file, severity, rule, excerpt } = diagnostic;
  const { line, column } = placeOf(diagnostic);
  const first = `${file}:${line}:${column}: ${severity} ${rule}: ${sentenceOf(diagnostic)}`;
  if (excerpt === undefined) return [first];
  const { text, caret } = excerpt;
  return [first, `    ${text}`, `    ${' '.repeat(caret)}^`];
}

function verdictOn(examined: ExaminedFile): string {
  const { file, policies, limits } = examined;
  if (limits !== undefined) return `${file}: fine, ${counted(limits, 'limit', 'limits')}`;
  if (policies === undefined) {
    return `${file}: invalid, ${counted(countOf('error', [examined]), 'error', 'errors')}`;
  }
  return `${file}: fine, ${policiesInWords(policies)}`;
}

/** What a valid file has: `2 policies and the default`. The default is one of them. */
export function policiesInWords(withDefault: number): string {
  if (withDefault === 1) return 'the default alone';
  return `${counted(withDefault - 1, 'policy', 'policies')} and the default`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
