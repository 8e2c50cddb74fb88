/**
 * Reads lines of text by a layout as NGINX's `log_format` has it: variables between fixed texts. No regular expression
 * is made of it, so no layout and no line can make reading slow.
 */
import { ConfigError } from '../../../../gateway/config/config-error.ts';

/** How the log writes a quote inside a quoted value: `\"` or `\x22`, `#22`, or as it is. */
export type Escape = 'backslash' | 'hash' | 'none';

type End =
  /** Before the next quote that is not escaped. */
  | 'quote'
  /** Before the next space; a comma joins what follows it, as in `192.0.2.1, 192.0.2.2`. */
  | 'space'
  /** Before the next occurrence of the text after it. */
  | 'text'
  /** Before the next slash: a path follows without anything between. */
  | 'path'
  /** With the line, in which there is no quote any more. */
  | 'line'
  /** With the line, whatever is in it. */
  | 'rest';

interface Step {
  readonly name: string;
  readonly end: End;
  readonly text: string;
  readonly atLeast: number;
}

const VARIABLE = /\$(?:\{(\w+)\}|(\w+))/g;
/** A stamp of `time_local` has a space at a fixed place. */
const TIME_LOCAL = 26;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;

export class Layout {
  readonly names: readonly string[];
  readonly #head: string;
  readonly #steps: readonly Step[];
  /** Where the variables of the last line begin and end, in pairs. */
  readonly #spans: Int32Array;

  /** Throws a ConfigError if two variables have nothing between them. */
  constructor(source: string, escapes: Escape) {
    const found = [...source.matchAll(VARIABLE)];
    const ends = found.map((match) => match.index + match[0].length);
    this.#head = source.slice(0, found[0]?.index);
    this.#steps = found.map((match, i) => {
      const name = nameOf(match) ?? '';
      const text = source.slice(ends[i], found[i + 1]?.index);
      return stepOf({ name, text, next: nameOf(found[i + 1]) }, escapes);
    });
    this.names = this.#steps.map(({ name }) => name);
    this.#spans = new Int32Array(2 * this.#steps.length);
  }

  /** The number of variables that the line has in their places. If it is all, `cell` gives them. */
  read(line: string): number {
    const steps = this.#steps;
    const spans = this.#spans;
    if (!line.startsWith(this.#head)) return 0;
    let from = this.#head.length;
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i] as Step;
      const end = endOf(line, from, step);
      if (end < 0 || !hasTextAt(line, end, step.text)) return i;
      spans[2 * i] = from;
      spans[2 * i + 1] = end;
      from = end + step.text.length;
    }
    return from === line.length ? steps.length : steps.length - 1;
  }

  cell(line: string, place: number): string {
    return line.slice(this.#spans[2 * place], this.#spans[2 * place + 1]);
  }

  /** How much of the fixed text stands before a variable: a line of another format has spaces there, but no more. */
  reach(place: number): number {
    if (place === 0) return 0;
    const before = [this.#head, ...this.#steps.slice(0, place).map(({ text }) => text)];
    return before.join('').replaceAll(' ', '').length;
  }
}

interface Variable {
  readonly name: string;
  readonly text: string;
  readonly next: string | undefined;
}

function nameOf(match: RegExpExecArray | undefined): string | undefined {
  return match?.[1] ?? match?.[2];
}

function stepOf({ name, text, next }: Variable, escapes: Escape): Step {
  const step = {
    name,
    text,
    atLeast: name === 'time_local' && text.startsWith(' ') ? TIME_LOCAL : 0,
  };
  if (text === '') {
    if (next === undefined) return { ...step, end: name === 'rest' ? 'rest' : 'line' };
    if (next === 'request_uri' || next === 'uri') return { ...step, end: 'path' };
    throw new ConfigError([
      `--format: nothing stands between $${name} and the next variable, so its end cannot be found`,
    ]);
  }
  if (text.startsWith('"') && escapes !== 'none') return { ...step, end: 'quote' };
  // Users may have spaces in their names, and requests always do.
  const hasSpaces = name === 'remote_user' || name === 'request';
  return { ...step, end: text.startsWith(' ') && !hasSpaces ? 'space' : 'text' };
}

function endOf(line: string, from: number, step: Step): number {
  switch (step.end) {
    case 'quote':
      return quoteAfter(line, from);
    case 'space':
      return spaceAfter(line, from, step.atLeast);
    case 'text':
      return line.indexOf(step.text, from + step.atLeast);
    case 'path':
      return line.indexOf('/', from);
    case 'line':
      return line.includes('"', from) ? -1 : line.length;
    case 'rest':
      return line.length;
  }
}

function hasTextAt(line: string, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (line.charCodeAt(at + i) !== text.charCodeAt(i)) return false;
  }
  return true;
}

function quoteAfter(line: string, from: number): number {
  let at = line.indexOf('"', from);
  while (at > from && line.charCodeAt(at - 1) === BACKSLASH && isEscaped(line, from, at)) {
    at = line.indexOf('"', at + 1);
  }
  return at;
}

function isEscaped(line: string, from: number, at: number): boolean {
  let first = at;
  while (first > from && line.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/** The next space that joins no list: NGINX writes lists of upstreams as `a, b : c`. */
function spaceAfter(line: string, from: number, atLeast: number): number {
  let at = line.indexOf(' ', from + atLeast);
  while (at > from) {
    const before = line.charCodeAt(at - 1);
    if (before === COMMA) at = line.indexOf(' ', at + 1);
    else if (line.charCodeAt(at + 1) === COLON && line.charCodeAt(at + 2) === 32) {
      at = line.indexOf(' ', at + 3);
    } else break;
  }
  return at === -1 ? -1 : at;
}
