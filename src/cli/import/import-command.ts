import { Argument, Command, InvalidArgumentError } from 'commander';
import { IMPORT_KINDS, type ImportKind } from './kinds.ts';
import type { ImportFlags } from './run-import.ts';

export function importCommand(): Command {
  return new Command('import')
    .description(
      "make a policy file from another rate limiter's configuration, and say what differs",
    )
    .addArgument(
      new Argument('<kind>', 'the other rate limiter').choices(IMPORT_KINDS).argParser(kindOf),
    )
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

const BY_HAND = 'express-rate-limit';

/** Names the recipe for a kind that earlier releases could import. */
function kindOf(text: string): ImportKind {
  const kind = IMPORT_KINDS.find((each) => each === text);
  if (kind !== undefined) return kind;
  const choices = `Allowed choices are ${IMPORT_KINDS.join(', ')}.`;
  throw new InvalidArgumentError(
    text === BY_HAND
      ? `${choices} Copy its options by hand: docs/recipes/from-express-rate-limit.md says how.`
      : choices,
  );
}
