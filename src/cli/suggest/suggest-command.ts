/** `headgate suggest`: proposes limits from access logs. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration, parseSlidingRate } from '../../gateway/config/rate.ts';
import { DAY_MS } from '../../gateway/core/identity/salts.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { orInvalid, withLog } from '../evidence/log-options.ts';
import type { SuggestFlags } from '../evidence/suggest/run.ts';
import { type OutputFlags, print, sayFile } from '../output/output.ts';

export function suggestCommand(): Command {
  return withLog(
    new Command('suggest').description(
      'propose limits from what clients do in access logs; each choice is measured on the log',
    ),
  )
    .option(
      '--policies <file>',
      'propose limits for the policies of this file (default: for the paths of the log)',
    )
    .option(
      '--holdout <days>',
      'days at the end of the log that limits are not fitted to, but measured on, such as 1d',
      readDays,
    )
    .option(
      '--capacity <rate>',
      'requests that the service can take from all clients together, such as 500/1s',
      readCapacity,
    )
    .addOption(
      new Option('-o, --output <format>', 'output format; yaml is a policy file in shadow mode')
        .choices(['text', 'yaml', 'json'])
        .default('text'),
    )
    .action(run);
}

interface Flags extends SuggestFlags {
  readonly output: OutputFlags['output'] | 'yaml';
}

async function run(logs: readonly string[], flags: Flags, command: Command): Promise<void> {
  // Loaded only now, because a command line with mistakes should fail fast.
  const { suggestFromLogs } = await import('../evidence/suggest/run.ts');
  const found = await suggestFromLogs(logs, flags, commandEnvironment(process.env));
  if (found === undefined) command.error('error: --holdout leaves no day to fit limits to');
  if (flags.output === 'yaml') sayFile(found.yaml());
  else print(flags.output, flags.output === 'json' && found.json(), found.text);
}

function readDays(text: string): number {
  const days = orInvalid(parseDuration)(text);
  if (days % DAY_MS === 0) return days;
  throw new InvalidArgumentError('It must be whole days, such as 1d.');
}

function readCapacity(text: string) {
  const { limit, windowMs } = orInvalid(parseSlidingRate)(text);
  return { limit, windowMs };
}
