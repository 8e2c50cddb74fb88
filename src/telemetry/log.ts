/** The log of the process: what is written is a line of the catalogue, with its level and its message. */
import { type DestinationStream, pino } from 'pino';
import { printableJson } from '../core/printable.ts';
import { type FieldsOf, LOG_LINES, type LogEvent, type LogLine } from './log-lines.ts';

export interface LogOptions {
  readonly level: string;
  /** The number of this process, where there are several. */
  readonly worker?: number | undefined;
  /** Standard output if absent. */
  readonly destination?: { write(line: string): void };
}

export interface Log {
  /** The message is that of the catalogue, unless the line has its own. */
  write<E extends LogEvent>(event: E, fields: FieldsOf<E>, message?: string): void;
  /** From now on, lines below this level are not written. */
  setLevel(level: string): void;
  /** Waits until everything is written. */
  flush(): void;
}

export function createLog({ level, worker, destination }: LogOptions): Log {
  // Whoever reads the lines slowly keeps nobody waiting. What is not written yet at the end is written then.
  const standardOutput = destination === undefined ? pino.destination({ sync: false }) : undefined;
  const base = worker === undefined ? null : { worker };
  const written = destination ?? (standardOutput as DestinationStream);
  // Whoever reads the log in a terminal reads what others wrote: JSON escapes only half of the control characters.
  const target = { write: (line: string) => void written.write(printableJson(line)) };
  const log = pino({ level, base }, target);
  // No child: it would follow the level of its parent.
  const always = pino({ level: 'info', base }, target);
  return {
    write(event, fields, message) {
      const line: LogLine = LOG_LINES[event];
      const content: object = { event, ...fields };
      (line.always === true ? always : log)[line.level](content, message ?? line.message);
    },
    setLevel(to) {
      log.level = to;
    },
    flush: () => standardOutput?.flushSync(),
  };
}
