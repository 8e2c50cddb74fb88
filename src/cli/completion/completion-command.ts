import { Argument, Command } from 'commander';
import { sayFile } from '../output/output.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { type CommandWords, wordsOf } from './words.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS: Readonly<Record<string, (commands: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export function completionCommand(program: () => Promise<Command>): Command {
  return new Command('completion')
    .description('print the script by which a shell completes the words of headgate')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
    .action(async (shell: string) => {
      sayFile(SCRIPTS[shell]?.(wordsOf(await program())) ?? '');
    });
}
