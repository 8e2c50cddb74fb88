/** Findings for GitHub Actions: workflow commands that annotate lines. */

import type { ExaminedFile } from '../../config/check/examine.ts';
import type { Severity } from '../../config/rules.ts';
import { printable } from '../../core/printable.ts';
import { sentenceOf, type ToldFinding, toldFinding } from './diagnostics.ts';

const COMMANDS: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'notice',
};

export function asGithubCommands(files: readonly ExaminedFile[]): string {
  return files
    .flatMap(({ findings }) => findings)
    .map((finding) => `${commandOf(toldFinding(finding))}\n`)
    .join('');
}

function commandOf(finding: ToldFinding): string {
  const { severity, rule, file, line, column } = finding;
  const properties = `file=${property(file)},line=${line},col=${column},title=${property(rule)}`;
  return `::${COMMANDS[severity]} ${properties}::${data(printable(sentenceOf(finding)))}`;
}

/** A line break would end the command, and begin another. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
