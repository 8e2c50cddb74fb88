/** What commands print: words in columns for people, JSON for programs. */
import { type Command, InvalidArgumentError } from 'commander';

/** And what turns the direction of writing. */
const CONTROLS = /\p{Cc}|[\u2028-\u202e\u2066-\u2069]/gu;

export interface OutputFlags {
  readonly output: 'text' | 'json';
}

export function withOutput(command: Command): Command {
  return command.option('-o, --output <format>', 'text or json', readOutput, 'text');
}

export function print(output: OutputFlags['output'], value: unknown, textOf: () => string): void {
  console.log(output === 'json' ? JSON.stringify(value, null, 2) : textOf());
}

/** Each as wide as its widest cell. What somebody wrote moves no cursor, and begins no line. */
export function columns(written: readonly (readonly string[])[]): string {
  const rows = written.map((row) => row.map((cell) => cell.replaceAll(CONTROLS, '?')));
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `2026-11-22 00:53:32`, in UTC. */
export function shortTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

function readOutput(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError('It is text or json.');
}
