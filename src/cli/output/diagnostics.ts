/** Prints diagnostics: for people, as JSON, and as workflow commands of GitHub Actions. */
import type { Diagnostic, Place, Severity } from '../../gateway/config/diagnostic.ts';
import { printable, printableJson } from '../../gateway/core/printable.ts';

export interface ExaminedFile {
  readonly file: string;
  /** Number of policies, with the default; undefined if the file is invalid. */
  readonly policies: number | undefined;
  /** Number of limits in place of policies, if it is a rate limit file. Undefined if it is invalid. */
  readonly limits?: number | undefined;
  /** The policy file has `keys: redis`. */
  readonly keysInStore?: boolean;
  readonly diagnostics: readonly Diagnostic[];
}

/** Editors and CI need a line: a diagnostic about the whole file has line 1. */
export function placeOf({ place }: Diagnostic): Place {
  return place ?? { line: 1, column: 1 };
}

export function sentenceOf({ path, message }: Diagnostic): string {
  return path === '' ? message : `${path}: ${message}`;
}

export function countOf(severity: Severity, files: readonly ExaminedFile[]): number {
  const all = files.flatMap(({ diagnostics }) => diagnostics);
  return all.filter((each) => each.severity === severity).length;
}

function asText(files: readonly ExaminedFile[]): string {
  return files
    .flatMap((examined) => [...examined.diagnostics.flatMap(linesOf), verdictOn(examined)])
    .map((line) => `${printable(line)}\n`)
    .join('');
}

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

function asJson(files: readonly ExaminedFile[]): string {
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

const COMMANDS: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'notice',
  fine: 'notice',
};

function asGithubCommands(files: readonly ExaminedFile[]): string {
  return files
    .flatMap(({ diagnostics }) => diagnostics)
    .map((diagnostic) => `${commandOf(diagnostic)}\n`)
    .join('');
}

function commandOf(diagnostic: Diagnostic): string {
  const { severity, rule, file } = diagnostic;
  const { line, column } = placeOf(diagnostic);
  const properties = `file=${property(file)},line=${line},col=${column},title=${property(rule)}`;
  return `::${COMMANDS[severity]} ${properties}::${data(printable(sentenceOf(diagnostic)))}`;
}

/** A line break would end the command and begin another one. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

export const DIAGNOSTIC_FORMS = { text: asText, json: asJson, github: asGithubCommands };
export type DiagnosticForm = keyof typeof DIAGNOSTIC_FORMS;
