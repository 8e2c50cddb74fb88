/** `headgate log`: what the running gateways log, for a time. */
import { Command, Option } from 'commander';
import { LOG_LEVELS } from '../config/settings.ts';
import type { OverrideReport } from '../operations/override-report.ts';
import { askGateway, changingCommand, type GatewayFlags, operator } from './gateway-client.ts';
import { countUpTo } from './numbers.ts';
import { overrideText } from './overrides.ts';

interface LogFlags extends GatewayFlags {
  readonly level?: string;
  readonly allowsOneIn?: number;
  readonly for: string;
  readonly reason: string;
  readonly by?: string;
}

export function logCommand(): Command {
  return new Command('log')
    .description('what the running gateways log')
    .addCommand(
      changingCommand('set')
        .description('another level, or lines of some allowed requests, for a time')
        .addOption(new Option('--level <level>', 'lines of at least this').choices(LOG_LEVELS))
        .option(
          '--allows-one-in <count>',
          'a line for one in so many allowed requests',
          countUpTo(1_000_000_000),
        )
        .requiredOption('--for <duration>', 'how long: a number and s, min, h or d, 31d at most')
        .requiredOption('--reason <text>', 'why, for the audit log and headgate overrides')
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
  for (const override of overrides) console.log(overrideText(override));
}

async function restore(flags: GatewayFlags & { by?: string }): Promise<void> {
  const by = encodeURIComponent(operator(flags.by));
  await askGateway(flags, { method: 'DELETE', path: `/v1/log?by=${by}` });
  console.log('log: is as at the start again');
}
