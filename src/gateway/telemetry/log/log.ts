/** Writes lines of the catalogue, each with its level and its message. */
import { pino } from 'pino';
import { printableJson } from '../../core/printable.ts';
import { type FieldsOf, LOG_LINES, type LogEvent, type LogLine } from '../log-lines.ts';
import type { LogOutput, LogOutputOptions } from './log-output.ts';
import { standardOutput } from './standard-output.ts';

export interface LogOptions {
  readonly level: string;
  /** The number of this process, if there are several workers. */
  readonly worker?: number | undefined;
  /** Standard output if absent. */
  readonly destination?: { write(text: string): void };
}

export interface Log {
  /** Without `message`, the line has the message of the catalogue. */
  write<E extends LogEvent>(event: E, fields: FieldsOf<E>, message?: string): void;
  /** Writes text for people between the lines. */
  print(text: string): void;
  /** From now on, lines below this level are not written. */
  setLevel(level: string): void;
  /** Waits until everything is written, but not for long. */
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
    write(event, fields, message) {
      const line: LogLine = LOG_LINES[event];
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
