import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { printableJson } from '../../core/printable.ts';
import type { FieldsOf, LogLine, LogLines } from './log-line.ts';
import { LogOutput, type LogOutputOptions } from './log-output.ts';

const STANDARD_OUTPUT = 1;

/** Node has it for terminals, pipes and sockets. Files need none. */
interface Unblockable {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void };
}

function standardOutput(options: Pick<LogOutputOptions, 'onLost' | 'report'>): LogOutput {
  const { _handle: handle } = process.stdout as Unblockable;
  const output = new LogOutput({
    ...options,
    fd: openOwn() ?? STANDARD_OUTPUT,
    unblock: () => handle?.setBlocking?.(false),
  });
  // Without a handler, a log that reaches the limit of a file's size (ulimit -f) ends the process.
  process.on('SIGXFSZ', () => {});
  process.on('exit', () => output.flushAtExit());
  return output;
}

/**
 * Opens a pipe or terminal once more. Writes to it fail where they would wait, and no other process can change that: Node
 * makes the standard output of this process wait again each time that it starts a worker.
 */
function openOwn(): number | undefined {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  if (!isatty(STANDARD_OUTPUT) && !fstatSync(STANDARD_OUTPUT).isFIFO()) return undefined;
  try {
    return openSync(`/proc/self/fd/${STANDARD_OUTPUT}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // Another user opened it, or this system has no such files.
    return undefined;
  }
}

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
