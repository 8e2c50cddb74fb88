import { pino } from 'pino';
import { printableJson } from '../../core/printable.ts';
import type { FieldsOf, LogLine, LogLines } from './log-line.ts';
import type { LogOutput, LogOutputOptions } from './log-output.ts';
import { standardOutput } from './standard-output.ts';

export interface LogOptions {
  readonly level: string;
  /** The number of this process, if there are several workers. */
  readonly worker?: number | undefined;
  readonly destination?: { write(text: string): void };
}

export interface Log {
  /** Returns what writes these lines. Without `message`, a line has the message of its table. */
  linesOf<Lines extends LogLines>(
    lines: Lines,
  ): <Event extends keyof Lines & string>(
    event: Event,
    fields: FieldsOf<Lines, Event>,
    message?: string,
  ) => void;
  print(text: string): void;
  setLevel(level: string): void;
  /** Waits half a second at most. */
  flush(): Promise<void>;
}

/** Durations are logged in microseconds at the finest. */
const SERIALIZERS = { duration_ms: (ms: number) => Math.round(ms * 1000) / 1000 };

export function createLog(
  { level, worker, destination }: LogOptions,
  onLoss: Pick<LogOutputOptions, 'onLost' | 'report'>,
): Log {
  const output = destination === undefined ? standardOutput(onLoss) : undefined;
  const written = destination ?? (output as LogOutput);
  // Lines may quote what others wrote, and be read in a terminal: JSON escapes only half of the control characters.
  const target = { write: (line: string) => written.write(printableJson(line)) };
  const base = worker === undefined ? null : { worker };
  const log = pino({ level, base, serializers: SERIALIZERS }, target);
  // Not a child of the other, whose level it would follow.
  const always = pino({ level: 'info', base }, target);
  return {
    linesOf: (lines) => (event, fields, message) => {
      const line = lines[event] as LogLine;
      const content: object = { event, ...fields };
      (line.always === true ? always : log)[line.level](content, message ?? line.message);
    },
    print: (text) => written.write(text),
    setLevel(to) {
      log.level = to;
    },
    flush: async () => output?.flush(),
  };
}
