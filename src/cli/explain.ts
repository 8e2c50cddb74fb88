/** `headgate explain`: shows how a request would be decided and why, or what is known of a denial. */
import { Command, InvalidArgumentError } from 'commander';
import { canonicalAddress } from '../core/address.ts';
import { DEFAULT_DIALECT, DIALECT_NAMES } from '../operations/explain-answer.ts';
import type { ExplainFlags, ProxyChoice } from './support/explain-request.ts';
import { readUrl } from './support/gateway-options.ts';
import { withOutput } from './support/output.ts';

export function explainCommand(): Command {
  return withOutput(
    new Command('explain')
      .description(
        'show how a request would be decided and why: client, policies, limits and answer; or show a recent denial',
      )
      .argument('[decision]', 'id of a recent denial; a running gateway looks it up')
      .option('--url <url>', "path or URL, as the client sends it: '/api//auth/LOGIN'")
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      .option('--method <method>', 'method of the request', 'GET')
      .option(
        '-H, --header <header>',
        "header of the request, as 'name: value'; repeat for more",
        addHeader,
        [],
      )
      .option('--peer <address>', 'address that connected to the proxy')
      .option('--client <address>', 'client address that the proxy reports')
      .option('--proxy-address <address>', 'address of the proxy', '127.0.0.1')
      .option(
        '--proxy <name>',
        `proxy whose answer is shown: ${DIALECT_NAMES.join(', ')} (default: ${DEFAULT_DIALECT}); an address is the older form of --proxy-address`,
        readProxy,
      )
      .option('--live', 'use the current counters in Redis (HEADGATE_REDIS_URL)')
      .option('--gateway <url>', 'use the policies and counters of this running gateway', readUrl),
  ).action(run);
}

async function run(decision: string | undefined, flags: ExplainFlags, command: Command) {
  const mistake = mistakeIn(decision, flags, command);
  if (mistake !== undefined) command.error(`error: ${mistake}`);
  // Loaded only now, because a command line with mistakes should fail fast.
  if (decision !== undefined) {
    const { explainDecision } = await import('./support/explain-decision.ts');
    return explainDecision(decision, flags);
  }
  const { explainRequest } = await import('./support/explain-request.ts');
  return explainRequest({ ...flags, url: flags.url ?? '' });
}

function mistakeIn(
  decision: string | undefined,
  { url, policies, live, gateway, proxy }: ExplainFlags,
  command: Command,
): string | undefined {
  const isLocal = live === true || policies !== undefined;
  if (decision === undefined && url === undefined) return 'give a --url or the id of a decision';
  if (decision !== undefined && url !== undefined) {
    return 'give either a --url or the id of a decision';
  }
  if (decision !== undefined && isLocal) {
    return 'a running gateway looks up decisions: leave out --policies and --live';
  }
  if (gateway !== undefined && isLocal) {
    return '--gateway uses its own policies and counters: leave out --policies and --live';
  }
  const isAddressGiven = command.getOptionValueSource('proxyAddress') === 'cli';
  if (proxy?.address !== undefined && isAddressGiven) {
    return '--proxy-address gives the address already: give --proxy the name of a proxy';
  }
  return undefined;
}

function readProxy(text: string): ProxyChoice {
  if (DIALECT_NAMES.includes(text)) return { dialect: text };
  if (canonicalAddress(text) !== undefined) return { address: text };
  throw new InvalidArgumentError(`Allowed names are ${DIALECT_NAMES.join(', ')}.`);
}

function addHeader(text: string, before: ExplainFlags['header']): ExplainFlags['header'] {
  const colon = text.indexOf(':');
  if (colon < 1) {
    throw new InvalidArgumentError("It must be a name, a colon and a value: 'x-api-key: alice'.");
  }
  return [...before, [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]];
}
