/** Takes off what container runtimes and syslog write around the lines of a program. */

/** `2026-01-05T10:20:30.123456789Z stdout F `; P marks a part of a line. */
const CRI = /^\d{4}-\d\d-\d\dT\S+ std(?:out|err) ([FP])(?::\S*)? ?/;
/** docker compose writes `caddy-1  | `. */
const COMPOSE = /^[\w.-]+ *\| /;
/** `Jan  5 10:20:30 host program[12]: `, or with a stamp of RFC 3339, and with a priority before it. */
const SYSLOG =
  /^(?:<\d+>1? ?)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (?:\S+ )?[\w./-]+(?:\[\d+\])?: /;
/** A line that grows longer is dropped. */
const MAX_PARTS_LENGTH = 65_536;

export class Unwrapper {
  #parts = '';

  /** The line of the program, or undefined if this is only a part of it. */
  unwrap(line: string): string | undefined {
    if (line.startsWith('{')) return line.startsWith('{"log":"') ? this.#fromDocker(line) : line;
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
