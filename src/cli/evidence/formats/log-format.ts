/** The port to formats of access logs: what a line becomes. */

export interface LogEntry {
  /** When the request started, or as near as the log says, in milliseconds since the epoch. May have fractions. */
  readonly startMs: number;
  readonly method: string;
  readonly target: string;
  readonly host: string | undefined;
  /** The address that connected to the proxy, or that the proxy took for the client's. Without a port. */
  readonly address: string | undefined;
  readonly forwardedFor: string | undefined;
  readonly status: number | undefined;
  readonly userAgent: string | undefined;
  readonly fields: readonly (string | undefined)[];
}

export interface LogFormat {
  readonly name: string;
  readonly title: string;
  /** What the stamp of a line means. A format with a duration in its lines computes the start: then it is `start`. */
  readonly timeIs: 'start' | 'end';
  readonly precisionMs: number;
  readonly lacksZone: boolean;
  readonly address: string;
  readonly samples: readonly string[];
  readonly notes: readonly string[];
  /** The lines have X-Forwarded-For in the place of the client, and the load balancer that sent it after that. */
  readonly isForwardedFirst?: boolean;
  /** The format of another program that has the same text. */
  readonly twin?: string;
  /** Whether only this program writes such a line, and not that of the twin. */
  isProof?(line: string): boolean;
  /** This format with the time and the precision of these lines, where they differ from log to log. */
  adaptedTo?(lines: readonly string[]): LogFormat;
  /** Throws a ConfigError if the format cannot have one of the fields. */
  compile(options: ParseOptions): ParseLine;
}

export interface ParseOptions {
  readonly zone: string;
  readonly timeIs: 'start' | 'end' | undefined;
  readonly fields: readonly string[];
}

/**
 * Takes a line without its line break. Never throws. Undefined if the line is understood, but holds no HTTP request: a
 * TLS handshake on a plain port, a connection that closed before its request, another message of the same program.
 * A line may name the columns of those after it in the same source.
 */
export type ParseLine = (line: string, source?: number) => LogEntry | Misread | undefined;

export class Misread {
  readonly field: string;
  /** How well the line fits: fixed characters of a text, or keys of JSON, that were found. */
  readonly reach: number;

  constructor(field: string, reach = 0) {
    this.field = field;
    this.reach = reach;
  }
}
