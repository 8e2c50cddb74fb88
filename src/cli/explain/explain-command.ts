/** `headgate explain`: shows how a request would be decided and why, or what is known of a denial. */
import { Command, InvalidArgumentError } from 'commander';
import { OPERATIONS } from '../../gateway/operations/operation-table.ts';
import {
  ADDRESS_FORM,
  DEFAULT_DIALECT,
  DIALECT_NAMES,
  isAddressText,
  isHeader,
  isMethod,
  isTarget,
  METHOD_FORM,
  URL_FORM,
} from '../../gateway/operations/request-form.ts';
import { readUrl } from '../ops-client/gateway-options.ts';
import { withOutput } from '../output/output.ts';
import type { MatchFlags } from './explain-match.ts';
import type { ExplainFlags, ProxyChoice } from './explain-request.ts';

export function explainCommand(): Command {
  return withOutput(
    new Command('explain')
      .description(
        'show how a request would be decided and why: client, policies, limits and answer; or show a recent denial; or which limit of rate limit files applies',
      )
      .argument(
        '[decision...]',
        'id of a recent denial; a running gateway looks it up. With --domain: the entries of a descriptor, as key=value',
      )
      .option(
        '--url <url>',
        "path or URL, as the client sends it: '/api//auth/LOGIN'",
        inForm(isTarget, URL_FORM),
      )
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      .option('--method <method>', 'method of the request', inForm(isMethod, METHOD_FORM), 'GET')
      .option(
        '-H, --header <header>',
        "header of the request, as 'name: value'; repeat for more",
        addHeader,
        [],
      )
      .option(
        '--metadata <json>',
        'what filters of Envoy say of the request: a map of JSON by their namespace',
        readMetadata,
      )
      .option('--peer <address>', 'address that connected to the proxy', readAddress)
      .option('--client <address>', 'client address that the proxy reports', readAddress)
      .option('--proxy-address <address>', 'address of the proxy', readAddress, '127.0.0.1')
      .option(
        '--proxy <name>',
        `proxy whose answer is shown: ${DIALECT_NAMES.join(', ')} (default: ${DEFAULT_DIALECT}); an address is the older form of --proxy-address`,
        readProxy,
      )
      .option('--domain <domain>', 'domain of a rate limit request; name its entries as key=value')
      .option(
        '--ratelimit-config <path>',
        'with --domain: rate limit file, or directory of such files; repeat for more (HEADGATE_RATELIMIT_CONFIG)',
        (path: string, before: readonly string[]) => [...before, path],
        [],
      )
      .option('--merge-domains', 'with --domain: files may share a domain')
      .option('--live', 'use the current counters in Redis (HEADGATE_REDIS_URL)')
      .option('--gateway <url>', 'use the policies and counters of this running gateway', readUrl),
  ).action(run);
}

const readAddress = inForm(
  isAddressText,
  `${ADDRESS_FORM}. To see a client by its key or name: headgate clients show id:NAME`,
);

type Flags = ExplainFlags & MatchFlags;

const NO_DECISION_ID =
  'error: there is no decision id in this: one is like 32f2453148f4-1, and a 429 or 403 has it in X-RateLimit-Decision-Id and in its body; to see a client by its address, key or name: headgate clients show';

/** They describe a request, which a decision id and a descriptor do not need. */
const OF_REQUEST = ['method', 'header', 'metadata', 'peer', 'client', 'proxyAddress', 'proxy'];

async function run(words: readonly string[], flags: Flags, command: Command) {
  const mistake =
    flags.domain === undefined ? mistakeIn(words, flags, command) : matchMistake(words, flags);
  if (mistake === undefined && flags.url === undefined) refuseRequestFlags(command);
  if (mistake !== undefined) command.error(`error: ${mistake}`);
  // Loaded only now, because a command line with mistakes should fail fast.
  if (flags.domain !== undefined) {
    const { explainDescriptor, readEntry } = await import('./explain-match.ts');
    return explainDescriptor(words.map(readEntry), flags);
  }
  const [decision] = words;
  if (decision !== undefined) {
    const { decisionIdIn } = await import('../../gateway/operations/client-name.ts');
    const id = decisionIdIn(decision);
    // Other texts may be keys, which are not repeated.
    const name = /^id:\S+$/.test(decision) || isAddressText(decision) ? decision : 'CLIENT';
    if (id === undefined) command.error(`${NO_DECISION_ID} ${name}`);
    const { explainDecision } = await import('./explain-request.ts');
    return explainDecision(id, flags);
  }
  const { explainRequest } = await import('./explain-request.ts');
  return explainRequest({ ...flags, url: flags.url ?? '' });
}

function refuseRequestFlags(command: Command): void {
  const given = command.options.filter(
    (option) =>
      OF_REQUEST.includes(option.attributeName()) &&
      command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (given.length === 0) return;
  const names = given.map(({ long }) => long).join(', ');
  command.error(`error: ${names}: only with --url, which says that a request is described`);
}

function matchMistake(words: readonly string[], flags: Flags): string | undefined {
  const { url, policies, live, gateway } = flags;
  const word = words.find((each) => each.indexOf('=') < 1);
  const others = [url, policies, gateway].filter((each) => each !== undefined);
  return firstThatHolds({
    'give the entries of the descriptor, as key=value': words.length === 0,
    [`"${word}" is no entry of a descriptor, write key=value`]: word !== undefined,
    '--domain explains by rate limit files alone: leave out --url, --policies, --live and --gateway':
      live === true || others.length > 0,
  });
}

function mistakeIn(
  [decision, ...more]: readonly string[],
  { url, policies, live, gateway, proxy, ratelimitConfig, mergeDomains }: Flags,
  command: Command,
): string | undefined {
  const isLocal = live === true || policies !== undefined;
  const isDecision = decision !== undefined;
  const isAddressGiven = command.getOptionValueSource('proxyAddress') === 'cli';
  return firstThatHolds({
    'rate limit files need the --domain of the request':
      ratelimitConfig.length > 0 || mergeDomains === true,
    'give one id of a decision': more.length > 0,
    'give a --url or the id of a decision': !isDecision && url === undefined,
    'give either a --url or the id of a decision': isDecision && url !== undefined,
    'a running gateway looks up decisions: leave out --policies and --live': isDecision && isLocal,
    '--gateway uses its own policies and counters: leave out --policies and --live':
      gateway !== undefined && isLocal,
    '--proxy-address gives the address already: give --proxy the name of a proxy':
      proxy?.address !== undefined && isAddressGiven,
  });
}

function firstThatHolds(conditions: Readonly<Record<string, boolean>>): string | undefined {
  return Object.keys(conditions).find((text) => conditions[text]);
}

function readProxy(text: string): ProxyChoice {
  if (DIALECT_NAMES.includes(text)) return { dialect: text };
  if (isAddressText(text)) return { address: text };
  throw new InvalidArgumentError(`Allowed names are ${DIALECT_NAMES.join(', ')}.`);
}

function addHeader(text: string, before: ExplainFlags['header']): ExplainFlags['header'] {
  const colon = text.indexOf(':');
  const [name, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  if (colon < 1 || !isHeader(name, value)) {
    throw new InvalidArgumentError("It must be a name, a colon and a value: 'x-api-key: alice'.");
  }
  return [...before, [name, value]];
}

function readMetadata(json: string): ExplainFlags['metadata'] {
  try {
    return OPERATIONS.explain.input.shape.metadata.parse(JSON.parse(json));
  } catch {
    throw new InvalidArgumentError(
      'It must be a map of what each filter says, such as {"envoy.filters.http.jwt_authn":{"payload":{"sub":"alice"}}}.',
    );
  }
}

function inForm(isRight: (text: string) => boolean, form: string): (text: string) => string {
  return (text) => {
    if (isRight(text)) return text;
    throw new InvalidArgumentError(`It ${form}.`);
  };
}
