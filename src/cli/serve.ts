/** `headgate serve`: the gateway itself. */
import { Command } from 'commander';
import type { ServeFlags } from './support/run-gateway.ts';

export function serveCommand(): Command {
  return (
    new Command('serve')
      .description('answer proxies (the default command)')
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      // The default command also gets the words that are no command.
      .allowExcessArguments()
      .action(async (flags: ServeFlags, command: Command) => {
        const [word] = command.args;
        if (word !== undefined)
          command.error(`error: unknown command "${word}", see headgate --help`);
        // Only now: all that a gateway is made of takes longer to load than a health check takes to ask.
        const { serve } = await import('./support/run-gateway.ts');
        return serve(flags);
      })
  );
}
