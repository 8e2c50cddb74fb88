/** Findings for people: a line for each, and one for each file. */

import type { ExaminedFile } from '../../config/check/examine.ts';
import type { Finding } from '../../config/diagnostic.ts';
import { printable } from '../../core/printable.ts';
import { countOf, sentenceOf, type ToldFinding, toldFinding } from './diagnostics.ts';

export function asText(files: readonly ExaminedFile[]): string {
  return files
    .flatMap((file) => [
      ...file.findings.flatMap((each) => linesOf({ ...toldFinding(each), excerpt: each.excerpt })),
      verdictOn(file),
    ])
    .map((line) => `${printable(line)}\n`)
    .join('');
}

type ShownFinding = ToldFinding & Pick<Finding, 'excerpt'>;

function linesOf(finding: ShownFinding): string[] {
  const { file, line, column, severity, rule, excerpt } = finding;
  const told = `${file}:${line}:${column}: ${severity} ${rule}: ${sentenceOf(finding)}`;
  if (excerpt === undefined) return [told];
  const { text, caret } = excerpt;
  return [told, `    ${text}`, `    ${' '.repeat(caret)}^`];
}

function verdictOn(examined: ExaminedFile): string {
  const { file, policies } = examined;
  return policies === undefined
    ? `${file}: invalid, ${counted(countOf('error', [examined]), 'error', 'errors')}`
    : `${file}: fine, ${policies === 1 ? 'the default alone' : `${counted(policies - 1, 'policy', 'policies')} and the default`}`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
