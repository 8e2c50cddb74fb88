/** `headgate log`: what the running gateways log, for a time. */
import { Command, Option } from 'commander';
import { LOG_LEVELS } from '../config/settings/settings.ts';
import type { OverrideReport } from '../operations/override-report.ts';
import {
  askGateway,
  type ChangeFlags,
  changingCommand,
  type OverrideFlags,
  operator,
  overridingCommand,
} from './support/gateway-client.ts';
import { countUpTo } from './support/numbers.ts';
import { print, say } from './support/output.ts';
import { overrideText } from './support/print-overrides.ts';

interface LogFlags extends OverrideFlags {
  readonly level?: string;
  readonly allowsOneIn?: number;
}

export function logCommand(): Command {
  return new Command('log')
    .description('what the running gateways log')
    .addCommand(
      overridingCommand('set')
        .description('another level, or lines of some allowed requests, for a time')
        .addOption(new Option('--level <level>', 'lines of at least this').choices(LOG_LEVELS))
        .option(
          '--allows-one-in <count>',
          'a line for one in so many allowed requests',
          countUpTo(1_000_000_000),
        )
        .action(set),
    )
    .addCommand(
      changingCommand('restore').description('log as at the start again').action(restore),
    );
}

async function set({ level, allowsOneIn, by, ...flags }: LogFlags): Promise<void> {
  const { overrides } = await askGateway<{ overrides: OverrideReport[] }>(flags, {
    method: 'PUT',
    path: '/v1/log',
    body: {
      ...(level !== undefined && { level }),
      ...(allowsOneIn !== undefined && { allows_one_in: allowsOneIn }),
      for: flags.for,
      reason: flags.reason,
      by: operator(by),
    },
  });
  print('text', overrides, () => overrides.map(overrideText));
}

async function restore(flags: ChangeFlags): Promise<void> {
  const by = encodeURIComponent(operator(flags.by));
  await askGateway(flags, { method: 'DELETE', path: `/v1/log?by=${by}` });
  say('log: is as at the start again');
}
