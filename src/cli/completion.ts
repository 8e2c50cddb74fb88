/** `headgate completion`: prints the script by which a shell completes headgate's words. */
import { Argument, Command } from 'commander';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { type CommandWords, wordsOf } from './completion/words.ts';
import { zshScript } from './completion/zsh.ts';
import { sayFile } from './support/output.ts';

const SCRIPTS: Readonly<Record<string, (commands: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `program` makes the whole command line. */
export function completionCommand(program: () => Promise<Command>): Command {
  return new Command('completion')
    .description('print the script by which a shell completes the words of headgate')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
    .action(async (shell: string) => {
      sayFile(SCRIPTS[shell]?.(wordsOf(await program())) ?? '');
    });
}
