/** The options of commands that read access logs. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../gateway/config/rate.ts';
import { type MappedField, readMapping } from './log-request.ts';
import { type OpenLog, openLog } from './reading/open-log.ts';

export interface LogFlags {
  readonly format: string;
  readonly tz: string;
  readonly timeIs?: 'start' | 'end';
  readonly map: readonly MappedField[];
  readonly horizon: number;
}

export function withLog(command: Command): Command {
  return command
    .argument('<logs...>', 'access logs, also .gz and .zst; - is standard input')
    .option(
      '--format <format>',
      "format of the logs: auto, a name, or an NGINX log_format string: '$remote_addr …'",
      'auto',
    )
    .option('--tz <zone>', 'time zone of stamps without one: Europe/Berlin', readZone, 'UTC')
    .addOption(
      new Option(
        '--time-is <end>',
        'what the time of a line is (default: as the format has it)',
      ).choices(['start', 'end']),
    )
    .option(
      '--map <name=field>',
      'take a value from a field of the log: api_key=FIELD, user=FIELD, plan=FIELD or header:NAME=FIELD; repeat for more',
      addMapping,
      [],
    )
    .addOption(
      new Option('--horizon <duration>', 'how far out of order lines may be')
        .argParser(orInvalid(parseDuration))
        .default(60_000, '1min'),
    );
}

export function parsingOf({ tz, timeIs, map }: LogFlags) {
  return { zone: tz, timeIs, fields: map.map(({ field }) => field) };
}

/** Throws a LogError or a ConfigError. */
export function openLogs(paths: readonly string[], flags: LogFlags): Promise<OpenLog> {
  return openLog({ paths, format: flags.format, ...parsingOf(flags) });
}

function readZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new InvalidArgumentError('It must be a time zone, as in Europe/Berlin or UTC.');
  }
}

const asMapping = orInvalid(readMapping);

function addMapping(text: string, before: readonly MappedField[]): readonly MappedField[] {
  return [...before, asMapping(text)];
}

export function orInvalid<T>(read: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };
}
