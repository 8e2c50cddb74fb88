/** Takes off what container runtimes and syslog write around the lines of a program. */

/** `2026-01-05T10:20:30.123456789Z stdout F `; P marks a part of a line. */
const CRI = /^\d{4}-\d\d-\d\dT\S+ std(?:out|err) ([FP])(?::\S*)? ?/;
/** docker compose writes `caddy-1  | `. */
const COMPOSE = /^[\w.-]+ *\| /;
/** `Jan  5 10:20:30 host program[12]: `, or with a stamp of RFC 3339, and with a priority before it. */
const SYSLOG =
  /^(?:<\d+>1? ?)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (?:\S+ )?[\w./-]+(?:\[\d+\])?: /;
const NULS = /^\0+/;
const SPACE = 32;
const DASH = 45;
const COLON = 58;
const LESS_THAN = 60;
const LETTER_T = 84;
const BRACE = 123;
const PIPE = 124;
/** A line that grows longer is dropped. */
const MAX_PARTS_LENGTH = 65_536;

export class Unwrapper {
  #parts = '';

  /** The line of the program, or undefined if this is only a part of it. */
  unwrap(line: string): string | undefined {
    const first = line.charCodeAt(0);
    if (first === BRACE) return line.startsWith('{"log":"') ? this.#fromDocker(line) : line;
    // Log rotation leaves NULs where the proxy goes on to write at its old place.
    if (first === 0) return this.unwrap(line.replace(NULS, ''));
    if (!mayBeWrapped(line)) return line;
    const [wrapping, part] = CRI.exec(line) ?? COMPOSE.exec(line) ?? SYSLOG.exec(line) ?? [];
    if (wrapping === undefined) return line;
    const text = line.slice(wrapping.length);
    return part === undefined ? text : this.#joined(text, part === 'F');
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

/** Looks at a few characters, because three patterns take longer than the rest of the reading. */
function mayBeWrapped(line: string): boolean {
  if (line.charCodeAt(10) === LETTER_T && line.charCodeAt(4) === DASH) return true;
  if (line.charCodeAt(9) === COLON && line.charCodeAt(3) === SPACE) return true;
  let at = line.indexOf(' ');
  if (line.charCodeAt(at - 1) === PIPE || line.charCodeAt(0) === LESS_THAN) return true;
  while (line.charCodeAt(at) === SPACE) at++;
  return line.charCodeAt(at) === PIPE;
}
