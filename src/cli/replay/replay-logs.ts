/** Replays logs, and prints the report. Ctrl+C reports what is known so far. */
import { commandEnvironment } from '../environment/commands.ts';
import { type LogFlags, openLogs, parsingOf } from '../evidence/log-options.ts';
import { replayPage } from '../evidence/page/replay-page.ts';
import { readPolicyFile } from '../evidence/policies.ts';
import { textOf } from '../evidence/replay/report-text.ts';
import { runReplay } from '../evidence/replay/run.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';
import { interruptible } from '../output/interrupt.ts';
import { complain, type OutputFlags, print } from '../output/output.ts';
import { OutputFile } from '../output/output-file.ts';
import { columns } from '../output/table.ts';
import { type FailOn, failuresOf } from './fail-on.ts';

export interface ReplayFlags extends LogFlags, OutputFlags {
  readonly policies?: string;
  readonly against?: string;
  readonly failOn: readonly FailOn[];
  readonly addresses?: true;
  readonly invalid?: string;
  readonly html?: string;
  readonly threads?: number;
}

export async function replayLogs(paths: readonly string[], flags: ReplayFlags): Promise<void> {
  const { cloudflareRanges, ...environment } = commandEnvironment(process.env);
  const policies = readPolicyFile(flags.policies ?? environment.policies, cloudflareRanges);
  const against =
    flags.against === undefined ? undefined : readPolicyFile(flags.against, cloudflareRanges);
  const log = await openLogs(paths, flags);
  const invalid = await openFile(flags.invalid, '--invalid');
  const page = await openFile(flags.html, '--html');
  using interrupt = interruptible();
  const { report, charts } = await runReplay({
    ...{ log, policies, against, mapping: flags.map, horizonMs: flags.horizon },
    parsing: parsingOf(flags),
    threads: flags.threads,
    showsAddresses: flags.addresses ?? false,
    measuresPeaks: page !== undefined,
    onMisread: invalid && ((text) => invalid.write(text, 'latin1')),
    signal: interrupt.signal,
  });
  print(flags.output, report, () =>
    textOf(report).flatMap((part) =>
      ['table' in part ? columns(part.table) : part.lines, ''].flat(),
    ),
  );
  await page?.write(replayPage(report, charts));
  const failures = failuresOf(report, flags.failOn);
  if (failures.length > 0) {
    complain(failures.map((failure) => `headgate: ${failure}`));
    process.exitCode = EXIT_FAULT;
  }
  interrupt.end();
  await Promise.all([invalid?.close(), page?.close()]);
}

function openFile(path: string | undefined, option: string): Promise<OutputFile> | undefined {
  return path === undefined ? undefined : OutputFile.open(path, option);
}
