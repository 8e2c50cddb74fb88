/** Formats diagnostics for GitHub Actions: workflow commands that annotate lines. */

import type { Diagnostic, Severity } from '../../gateway/config/diagnostic.ts';
import { printable } from '../../gateway/core/printable.ts';
import { type ExaminedFile, placeOf, sentenceOf } from '../output/diagnostics.ts';

const COMMANDS: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'notice',
  fine: 'notice',
};

export function asGithubCommands(files: readonly ExaminedFile[]): string {
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
