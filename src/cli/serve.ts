/** `headgate serve`: runs the gateway. */
import { Command } from 'commander';
import type { ServeFlags } from './support/run-gateway.ts';

export function serveCommand(): Command {
  return (
    new Command('serve')
      .description('run the gateway (the default command)')
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      // Words that are not a command arrive here, because this is the default command.
      .allowExcessArguments()
      .action(async (flags: ServeFlags, command: Command) => {
        const [word] = command.args;
        if (word !== undefined)
          command.error(`error: unknown command "${word}", see headgate --help`);
        // Loaded only now, because a gateway takes longer to load than the other commands take to run.
        const { serve } = await import('./support/run-gateway.ts');
        return serve(flags);
      })
  );
}
