/** Findings for people: a line for each, and one for each file. */
import { printable } from '../config/config-error.ts';
import type { ExaminedFile } from '../config/policy-examination.ts';
import { countOf, sentenceOf, type ToldFinding, toldFinding } from './check-findings.ts';

export function asText(files: readonly ExaminedFile[]): string {
  return files
    .flatMap((file) => [...file.findings.map(toldFinding).map(lineOf), verdictOn(file)])
    .map((line) => `${printable(line)}\n`)
    .join('');
}

function lineOf(finding: ToldFinding): string {
  const { file, line, column, severity, rule } = finding;
  return `${file}:${line}:${column}: ${severity} ${rule}: ${sentenceOf(finding)}`;
}

function verdictOn(examined: ExaminedFile): string {
  const { file, policies } = examined;
  return policies === undefined
    ? `${file}: invalid, ${counted(countOf('error', [examined]), 'error', 'errors')}`
    : `${file}: fine, ${counted(policies, 'policy', 'policies')}`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
