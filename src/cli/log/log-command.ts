/** `headgate log`: change what running gateways log. */
import { Command, Option } from 'commander';
import { LOG_LEVELS, type LogLevel } from '../../gateway/config/settings/settings.ts';
import { overrideText } from '../ops-client/change-text.ts';
import { changeGateway } from '../ops-client/gateway-client.ts';
import {
  type ChangeFlags,
  changeCommand,
  type OverrideFlags,
  operatorName,
  overrideCommand,
  overrideTerms,
} from '../ops-client/gateway-options.ts';
import { countUpTo } from '../output/numbers.ts';
import { say } from '../output/output.ts';

interface LogFlags extends OverrideFlags {
  readonly level?: LogLevel;
  readonly allowsOneIn?: number;
}

export function logCommand(): Command {
  return new Command('log')
    .description('change what the running gateways log')
    .addCommand(
      overrideCommand('set')
        .description('change the log level, or log a sample of the allowed requests, temporarily')
        .addOption(new Option('--level <level>', 'minimum log level').choices(LOG_LEVELS))
        .option(
          '--allows-one-in <count>',
          'log one in this many allowed requests',
          countUpTo(1_000_000_000),
        )
        .action(set),
    )
    .addCommand(
      changeCommand('restore')
        .description('return to the log settings from startup')
        .action(restore),
    );
}

async function set({ level, allowsOneIn, ...flags }: LogFlags): Promise<void> {
  const input = { level, allows_one_in: allowsOneIn, ...overrideTerms(flags) };
  const { overrides } = await changeGateway(flags, 'setLog', input);
  say(overrides.map((each) => overrideText(each, Date.now())));
}

async function restore(flags: ChangeFlags): Promise<void> {
  await changeGateway(flags, 'restoreLog', { by: operatorName(flags) });
  say('log: override removed; the settings from startup apply');
}
