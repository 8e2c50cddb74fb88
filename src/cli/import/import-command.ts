/** `headgate import`: makes a policy file from the configuration of another rate limiter. */
import { Argument, Command } from 'commander';
import { IMPORT_KINDS, type ImportKind } from './kinds.ts';
import type { ImportFlags } from './run-import.ts';

export function importCommand(): Command {
  return new Command('import')
    .description(
      "make a policy file from another rate limiter's configuration, and say what differs",
    )
    .addArgument(new Argument('<kind>', 'the other rate limiter').choices(IMPORT_KINDS))
    .argument('<file>', 'its configuration file; - is standard input')
    .option('--out <file>', 'write the policy file here (default: standard output)')
    .option('--force', 'overwrite the file')
    .option('--shadow', 'count and deny nobody: every policy gets mode: shadow')
    .action(async (kind: ImportKind, file: string, flags: ImportFlags) => {
      // Loaded only now, because a command line with mistakes should fail fast.
      const { runImport } = await import('./run-import.ts');
      await runImport(kind, file, flags);
    });
}
