/** `headgate ratelimit`: runs the gateway in the place of envoyproxy/ratelimit, with that program's environment. */
import cluster from 'node:cluster';
import { Command } from 'commander';
import { readEnvironment } from '../../gateway/config/settings/environment.ts';
import { dropInFor } from '../environment/variables.ts';
import { complain } from '../output/output.ts';

export function ratelimitCommand(): Command {
  return new Command('ratelimit')
    .description(
      "run the gateway in place of envoyproxy/ratelimit, with that program's environment",
    )
    .action(async () => {
      const { variables, notes } = dropInFor(process.env);
      // Workers have the same.
      if (cluster.isPrimary) for (const note of notes) complain(`headgate: ${note}`);
      const { serve } = await import('../serve/run-gateway.ts');
      return serve({}, () => readEnvironment(variables));
    });
}
