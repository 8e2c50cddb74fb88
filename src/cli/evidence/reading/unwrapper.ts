/** Takes off what container runtimes and syslog write around the lines of a program. */

const PIPE = 124;
const SPACE = 32;
/** `2026-01-05T10:20:30.123456789Z stdout F `; P marks a part of a line. */
const CRI = /^\d{4}-\d\d-\d\dT\S+ std(?:out|err) ([FP])(?::\S*)? ?/;
/** `Jan  5 10:20:30 host program[12]: `, or with a stamp of RFC 3339, and with a priority before it. */
const SYSLOG =
  /^(?:<\d+>1? ?)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (?:\S+ )?[\w./-]+(?:\[\d+\])?: /;
/** A line that grows longer is dropped. */
const MAX_PARTS_LENGTH = 65_536;

export class Unwrapper {
  #parts = '';

  /** The line of the program, or undefined if this is only a part of it. */
  unwrap(line: string): string | undefined {
    const first = line.charCodeAt(0);
    if (first === 123) return line.startsWith('{"log":"') ? this.#fromDocker(line) : line;
    if (isDigit(first) && line.charCodeAt(4) === 45 && line.charCodeAt(10) === 84) {
      const cri = CRI.exec(line);
      if (cri !== null) return this.#joined(line.slice(cri[0].length), cri[1] === 'F');
    }
    const start = composePrefix(line);
    if (start > 0) return line.slice(start);
    return mayBeSyslog(line, first) ? line.replace(SYSLOG, '') : line;
  }

  #joined(text: string, isComplete: boolean): string | undefined {
    const whole = this.#parts + text;
    this.#parts = isComplete || whole.length > MAX_PARTS_LENGTH ? '' : whole;
    return isComplete ? whole : undefined;
  }

  /** `{"log":"the line\n","stream":"stdout","time":"..."}`; a part has no line break. */
  #fromDocker(line: string): string | undefined {
    try {
      const { log } = JSON.parse(line) as { log?: unknown };
      if (typeof log !== 'string') return line;
      return this.#joined(log.replace(/\r?\n$/, ''), log.endsWith('\n'));
    } catch {
      return line;
    }
  }
}

/** The length of `caddy-1  | `, or 0. */
function composePrefix(line: string): number {
  let at = 0;
  while (isNameCharacter(line.charCodeAt(at))) at++;
  if (at === 0) return 0;
  while (line.charCodeAt(at) === SPACE) at++;
  return line.charCodeAt(at) === PIPE && line.charCodeAt(at + 1) === SPACE ? at + 2 : 0;
}

function mayBeSyslog(line: string, first: number): boolean {
  if (first === 60) return true;
  if (isDigit(first)) return line.charCodeAt(4) === 45 && line.charCodeAt(10) === 84;
  return first >= 65 && first <= 90 && line.charCodeAt(3) === SPACE && line.charCodeAt(9) === 58;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Letters, digits, `-`, `_` and `.`. */
function isNameCharacter(code: number): boolean {
  return (
    isDigit(code) ||
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    code === 45 ||
    code === 46 ||
    code === 95
  );
}
