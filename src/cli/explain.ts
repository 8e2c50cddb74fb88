/** `headgate explain`: what would be made of a request, and why; or what became of one that was denied. */
import { Command, InvalidArgumentError } from 'commander';
import type { ExplainFlags } from './support/explain-request.ts';
import { readUrl } from './support/gateway-client.ts';
import { withOutput } from './support/output.ts';

export function explainCommand(): Command {
  return withOutput(
    new Command('explain')
      .description(
        'say which policies and limits a request meets, who it counts for, and why; or what became of a denial',
      )
      .argument('[decision]', 'id of a recent denial, which a running gateway is asked about')
      .option('--url <url>', "path or URL, as the client sends it: '/api//auth/LOGIN'")
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      .option('--method <method>', 'of the request', 'GET')
      .option(
        '-H, --header <header>',
        "of the request, as 'name: value'; again for more",
        addHeader,
        [],
      )
      .option('--peer <address>', 'who connected to the proxy')
      .option('--client <address>', 'who the proxy takes the client to be')
      .option('--proxy <address>', 'who asks the gateway', '127.0.0.1')
      .option('--live', 'by the counts of this moment in Redis (HEADGATE_REDIS_URL)')
      .option('--gateway <url>', 'by the policies and counts of this running gateway', readUrl),
  ).action(run);
}

async function run(decision: string | undefined, flags: ExplainFlags, command: Command) {
  const { url, policies, live, gateway } = flags;
  const refuse = (what: string) => command.error(`error: ${what}`);
  if (decision === undefined && url === undefined) refuse('name a --url, or the id of a decision');
  if (decision !== undefined && url !== undefined) refuse('name a --url or a decision, not both');
  if (decision !== undefined && (live === true || policies !== undefined)) {
    refuse('a running gateway is asked about a decision: leave out --policies and --live');
  }
  if (gateway !== undefined && (policies !== undefined || live === true)) {
    refuse('--gateway goes by its own policies and counts: leave out --policies and --live');
  }
  // Only now: what reads policies takes longer to load than a command line to be refused.
  const { explainDecision, explainRequest } = await import('./support/explain-request.ts');
  if (decision !== undefined) await explainDecision(decision, flags);
  else if (url !== undefined) await explainRequest({ ...flags, url });
}

function addHeader(text: string, before: ExplainFlags['header']): ExplainFlags['header'] {
  const colon = text.indexOf(':');
  if (colon < 1)
    throw new InvalidArgumentError("It is a name, a colon and a value: 'x-api-key: alice'.");
  return [...before, [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]];
}
