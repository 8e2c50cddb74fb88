/**
 * Prints for people (text) and for programs (JSON). Every command prints through this file, because much of the
 * text comes from others: clients, operators, or a server that poses as a gateway.
 */
import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { printable, printableJson } from '../../gateway/core/printable.ts';

/** Whoever read the output, such as `head -1`, has enough. The command still ends with its own exit code. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** What a text means. A terminal that has colors shows it. */
export type Tone = 'head' | 'good' | 'warning' | 'bad' | 'aside' | 'chosen';

export interface Toned {
  readonly text: string;
  readonly tone: Tone;
}

export type Span = string | Toned;

/** A text without colors, or the spans of a line. */
export type Line = string | { readonly spans: readonly Span[] };

const STYLES = {
  head: 'bold',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
  aside: 'dim',
  chosen: 'inverse',
} as const;

export interface OutputFlags {
  readonly output: 'text' | 'json';
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'output format')
      .choices(['text', 'json'])
      .argParser(readOutput)
      .default('text'),
  );
}

/** Prints lines to standard output, with escapes for line breaks and for every character that a terminal would obey. */
export function say(lines: Line | readonly Line[]): void {
  console.log(textOf(lines));
}

export function textOf(lines: Line | readonly Line[]): string {
  return [lines].flat().map(shown).join('\n');
}

/** Prints a file that headgate wrote, with its line breaks and tabs. */
export function sayFile(text: string): void {
  const withTabs = (line: string) => line.split('\t').map(printable).join('\t');
  console.log(linesIn(text).map(withTabs).join('\n'));
}

/** Colors are added after the escapes: only if standard output is a terminal, or as NO_COLOR and FORCE_COLOR say. */
function shown(line: Line): string {
  if (typeof line === 'string') return printable(line);
  return line.spans.map(shownSpan).join('');
}

function shownSpan(span: Span): string {
  if (typeof span === 'string') return printable(span);
  return styleText(STYLES[span.tone], printable(span.text), { stream: process.stdout });
}

/** Prints lines to standard error, with the same escapes. */
export function complain(lines: string | readonly string[]): void {
  console.error([lines].flat().map(printable).join('\n'));
}

const CLEAR = '\r\x1b[K';

/** Draws over the last line of standard error. Undefined if that is no terminal. */
export function terminalLine(): ((text: string) => void) | undefined {
  if (!process.stderr.isTTY) return undefined;
  return (text) => process.stderr.write(CLEAR + printable(text));
}

export interface Prompt {
  /** Resolves to the line that was typed. Rejects if Ctrl+C or the end of the input comes instead. */
  ask(question: string): Promise<string>;
  close(): void;
}

/** Undefined if there is no terminal to ask on. */
export function openPrompt(): Prompt | undefined {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  const lines = createInterface({ input: stdin, output: stdout });
  const ended = new AbortController();
  lines.on('SIGINT', () => ended.abort());
  // Ctrl+D.
  lines.on('close', () => ended.abort());
  return {
    ask: (question) => lines.question(printable(question), { signal: ended.signal }),
    close: () => lines.close(),
  };
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Screen {
  size(): Size;
  onResize(listener: () => void): void;
  /** Keeps what is there, to show it again after `close`. */
  open(): void;
  /** Draws the lines that changed, while it is open. A line must fit in the width. */
  draw(lines: readonly Line[]): void;
  close(): void;
}

/** The alternate screen without the cursor; long lines are cut. */
const OPEN = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const CLOSE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const CLEAR_ALL = '\x1b[2J';

/** Undefined if standard output is no terminal. */
export function screen(): Screen | undefined {
  const { stdout } = process;
  if (!stdout.isTTY) return undefined;
  let isOpen = false;
  let drawn: string[] | undefined;
  return {
    // A terminal that does not know its size says 0.
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    onResize(listener) {
      stdout.on('resize', () => {
        drawn = undefined;
        listener();
      });
    },
    open() {
      stdout.write(OPEN);
      isOpen = true;
      drawn = undefined;
    },
    draw(lines) {
      if (!isOpen) return;
      const before = drawn ?? [];
      const after = lines.map(shown);
      const changes = after.map((text, i) =>
        text === before[i] ? '' : `\x1b[${i + 1};1H\x1b[K${text}`,
      );
      stdout.write((drawn === undefined ? CLEAR_ALL : '') + changes.join(''));
      drawn = after;
    },
    close() {
      isOpen = false;
      stdout.write(CLOSE);
    },
  };
}

/** The lines of a text that headgate wrote. */
export function linesIn(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

/** Prints a result as JSON, or as the lines for people. */
export function print(
  output: OutputFlags['output'],
  json: unknown,
  linesOf: () => readonly Line[],
): void {
  if (output === 'json') say(linesIn(printableJson(JSON.stringify(json, null, 2))));
  else say(linesOf());
}

function readOutput(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError('It must be text or json.');
}
