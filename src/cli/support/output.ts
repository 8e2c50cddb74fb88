/**
 * What commands print: words in columns for people, JSON for programs. All that a command prints goes through here, since
 * much of it was written by others: by clients, other operators, a server that only claims to be a gateway.
 */
import { type Command, InvalidArgumentError } from 'commander';
import { printable, printableJson } from '../../core/printable.ts';
import { EXIT_FAULT } from './exit-codes.ts';
import { GatewayRefused } from './gateway-refused.ts';

export interface OutputFlags {
  readonly output: 'text' | 'json';
}

export function withOutput(command: Command): Command {
  return command.option('-o, --output <format>', 'text or json', readOutput, 'text');
}

/** To standard output. A line stays one line, whatever is in it, and no character of it is obeyed by a terminal. */
export function say(lines: string | readonly string[]): void {
  console.log([lines].flat().map(printable).join('\n'));
}

/** A file of ours to standard output, with its line breaks and tabs. */
export function sayFile(text: string): void {
  const withTabs = (line: string) => line.split('\t').map(printable).join('\t');
  console.log(linesIn(text).map(withTabs).join('\n'));
}

/** The lines to standard error. */
export function complain(lines: string | readonly string[]): void {
  console.error([lines].flat().map(printable).join('\n'));
}

/** The lines of a text whose line breaks are ours. */
export function linesIn(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** What a gateway answered, or what stands for it. Throws GatewayRefused for an answer that no gateway gives. */
export function print(
  output: OutputFlags['output'],
  value: unknown,
  linesOf: () => readonly string[],
): void {
  if (output === 'json') {
    say(linesIn(printableJson(JSON.stringify(value, null, 2))));
    return;
  }
  say(understood(linesOf));
}

/** Each as wide as its widest cell. */
export function columns(written: readonly (readonly string[])[]): string[] {
  const rows = written.map((row) => row.map((cell) => printable(String(cell))));
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** `2026-11-22 00:53:32`, in UTC. */
export function shortTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

/** A field that is missing, or of another type, makes a TypeError somewhere below. */
function understood<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new GatewayRefused(
      EXIT_FAULT,
      'what answers is no gateway of this version: its answer lacks fields; -o json prints it',
      { cause },
    );
  }
}

function readOutput(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError('It is text or json.');
}
