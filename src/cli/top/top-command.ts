/** `headgate top`: shows in a terminal what running gateways deny and to whom, and lets the operator act on it. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../gateway/config/rate.ts';
import { changeCommand } from '../ops-client/gateway-options.ts';
import { withOutput } from '../output/output.ts';
import type { TopFlags } from './live.ts';

const LONGEST_INTERVAL_MS = 3_600_000;

export function topCommand(): Command {
  return withOutput(changeCommand('top'))
    .description(
      'show live what the gateways deny, why and to whom; reset, block and exempt clients there',
    )
    .addOption(
      new Option('--interval <duration>', 'time between updates, from 1s to 1h')
        .argParser(readInterval)
        .default(2_000, '2s'),
    )
    .option('--once', 'print tables and exit, as without a terminal')
    .action(top);
}

async function top(flags: TopFlags): Promise<void> {
  // Loaded only now, because a command line with mistakes should fail fast.
  const { runTop } = await import('./live.ts');
  await runTop(flags);
}

function readInterval(text: string): number {
  try {
    const ms = parseDuration(text);
    if (ms <= LONGEST_INTERVAL_MS) return ms;
  } catch {}
  throw new InvalidArgumentError('It must be a duration from 1s to 1h.');
}
