import { Command } from 'commander';
import type { ServeFlags } from './run-gateway.ts';

export function serveCommand(): Command {
  return (
    new Command('serve')
      .description('run the gateway (the default command)')
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      // Words that are not a command arrive here, because this is the default command.
      .allowExcessArguments()
      .action(async (flags: ServeFlags, command: Command) => {
        const [word] = command.args;
        if (word !== undefined) command.error(await unknownWord(word, command));
        // Loaded only now, because a gateway takes longer to load than the other commands take to run.
        const { serve } = await import('./run-gateway.ts');
        return serve(flags);
      })
  );
}

async function unknownWord(word: string, command: Command): Promise<string> {
  if (/\.ya?ml$/.test(word)) return `error: to serve a policy file: --policies ${word}`;
  const { hint } = await import('../../gateway/config/closest-word.ts');
  const names = command.parent?.commands.map((each) => each.name()) ?? [];
  return `error: unknown command "${word}"${hint(word, names) || ', see headgate --help'}`;
}
