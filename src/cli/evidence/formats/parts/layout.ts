/**
 * Reads lines of text by a layout as NGINX's `log_format` has it: variables between fixed texts. No regular expression
 * is made of it, so no layout and no line can make reading slow.
 */
import { ConfigError } from '../../../../gateway/config/diagnostic.ts';

/** How the log writes a quote inside a quoted value: `\"` or `\x22`, `#22`, or as it is. */
export type Escape = 'backslash' | 'hash' | 'none';

/** Where a variable ends that begins at `from`; -1 if it has no end. */
type EndOf = (line: string, from: number) => number;

interface Step {
  readonly name: string;
  readonly text: string;
  readonly endOf: EndOf;
}

const VARIABLE = /\$(?:\{(\w+)\}|(\w+))/g;
/** A stamp of `time_local` has a space at a fixed place. */
const TIME_LOCAL = 26;
const BACKSLASH = 92;
const COMMA = 44;

export class Layout {
  readonly names: readonly string[];
  readonly #head: string;
  readonly #steps: readonly Step[];
  /** Where the variables of the last line begin and end, in pairs. */
  readonly #spans: Int32Array;

  /** Throws a ConfigError if two variables have nothing between them. */
  constructor(source: string, escapes: Escape) {
    const found = [...source.matchAll(VARIABLE)];
    this.#head = source.slice(0, found[0]?.index);
    this.names = found.map(([, braced, plain]) => braced ?? plain ?? '');
    this.#steps = found.map((match, i) => {
      const name = this.names[i] as string;
      const text = source.slice(match.index + match[0].length, found[i + 1]?.index);
      const endOf =
        text === '' ? endWithoutText(name, this.names[i + 1]) : endBefore(text, name, escapes);
      return { name, text, endOf };
    });
    this.#spans = new Int32Array(2 * this.#steps.length);
  }

  /** The number of variables that the line has in their places. If it is all, `cell` gives them. */
  read(line: string): number {
    const steps = this.#steps;
    const spans = this.#spans;
    if (!line.startsWith(this.#head)) return 0;
    let from = this.#head.length;
    for (let i = 0; i < steps.length; i++) {
      const { endOf, text } = steps[i] as Step;
      const end = endOf(line, from);
      if (end < 0 || !hasTextAt(line, end, text)) return i;
      spans[2 * i] = from;
      spans[2 * i + 1] = end;
      from = end + text.length;
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

/** Faster than `startsWith` for texts of a few characters. */
function hasTextAt(line: string, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (line.charCodeAt(at + i) !== text.charCodeAt(i)) return false;
  }
  return true;
}

function endWithoutText(name: string, next: string | undefined): EndOf {
  if (next === undefined) {
    return name === 'rest'
      ? (line) => line.length
      : (line, from) => (line.includes('"', from) ? -1 : line.length);
  }
  if (next === 'request_uri' || next === 'uri') return (line, from) => line.indexOf('/', from);
  throw new ConfigError([
    `--format: nothing stands between $${name} and the next variable, so its end cannot be found`,
  ]);
}

function endBefore(text: string, name: string, escapes: Escape): EndOf {
  if (text.startsWith('"') && escapes !== 'none') return quoteAfter;
  const atLeast = name === 'time_local' && text.startsWith(' ') ? TIME_LOCAL : 0;
  // Users may have spaces in their names, and requests always do.
  const hasSpaces = name === 'remote_user' || name === 'request';
  return text.startsWith(' ') && !hasSpaces
    ? (line, from) => spaceAfter(line, from + atLeast)
    : (line, from) => line.indexOf(text, from);
}

/** The next quote that is not escaped. */
function quoteAfter(line: string, from: number): number {
  let at = line.indexOf('"', from);
  while (at > from && isEscaped(line, from, at)) at = line.indexOf('"', at + 1);
  return at;
}

function isEscaped(line: string, from: number, at: number): boolean {
  let first = at;
  while (first > from && line.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/** The next space that joins no list: NGINX writes lists of upstreams as `a, b : c`. */
function spaceAfter(line: string, from: number): number {
  let at = line.indexOf(' ', from);
  while (at > from) {
    if (line.charCodeAt(at - 1) === COMMA) at = line.indexOf(' ', at + 1);
    else if (hasTextAt(line, at + 1, ': ')) at = line.indexOf(' ', at + 3);
    else break;
  }
  return at;
}
