/** `headgate replay`: decides the requests of access logs by a policy file. */
import { Command, InvalidArgumentError } from 'commander';
import { withLog } from '../evidence/log-options.ts';
import { withOutput } from '../output/output.ts';
import { addFailOn, FAIL_ON_NAMES, needsDifference } from './fail-on.ts';
import type { ReplayFlags } from './replay-logs.ts';

export function replayCommand(): Command {
  return withOutput(
    withLog(new Command('replay'))
      .description('decide the requests of access logs by a policy file: who would be denied')
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      .option('--against <file>', 'policy file to compare with: what is newly denied and allowed')
      .option(
        '--fail-on <name=number>',
        `exit with 1 if there are more, also by policies in shadow mode: ${FAIL_ON_NAMES.join(', ')}; repeat for more`,
        addFailOn,
        [],
      )
      .option('--addresses', 'show addresses of clients in place of numbers')
      .option('--invalid <file>', 'write the lines that are not understood to this file')
      .option('--html <file>', 'write a page with plots to this file')
      .option('--threads <n>', 'threads (default: as many as pay)', readThreads),
  ).action(run);
}

async function run(paths: readonly string[], flags: ReplayFlags, command: Command): Promise<void> {
  const condition = flags.failOn.find(needsDifference);
  if (condition !== undefined && flags.against === undefined) {
    command.error(`error: --fail-on ${condition.name} compares two policy files: add --against`);
  }
  // Loaded only now, because a command line with mistakes should fail fast.
  const { replayLogs } = await import('./replay-logs.ts');
  return replayLogs(paths, flags);
}

const MAX_THREADS = 64;

function readThreads(text: string): number {
  const threads = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (threads >= 1 && threads <= MAX_THREADS) return threads;
  throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_THREADS}.`);
}
