/** The port to formats of access logs: one file each. */
import type { LogEntry } from '../log-entry.ts';

export interface LogFormat {
  /** As `--format` takes it: `nginx-combined`. */
  readonly name: string;
  /** For people: `NGINX, combined`. */
  readonly title: string;
  /** What the stamp of a line means. A format with a duration in its lines computes the start: then it is `start`. */
  readonly timeIs: 'start' | 'end';
  /** The precision of the stamps, in milliseconds. */
  readonly precisionMs: number;
  /** Whether stamps have no time zone, so that `--tz` says it. */
  readonly lacksZone: boolean;
  /** Lines that match this format and no other. */
  readonly samples: readonly string[];
  /** What a reader of the log must know: which address it has, what it leaves out. */
  readonly notes: readonly string[];
  compile(options: ParseOptions): ParseLine;
}

export interface ParseOptions {
  /** An IANA time zone for stamps without one. */
  readonly zone: string;
  /** Overrides what the format says. */
  readonly timeIs: 'start' | 'end' | undefined;
  /** Names of fields whose values the entries shall have. Throws a ConfigError if the format cannot have one. */
  readonly fields: readonly string[];
}

/** Takes a line without its line break. Never throws. */
export type ParseLine = (line: string) => LogEntry | Misread;

/** A line that is not understood. */
export class Misread {
  /** The first field that is not as the format has it. */
  readonly field: string;

  constructor(field: string) {
    this.field = field;
  }
}
